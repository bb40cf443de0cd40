"""The line that a run has in a note, and lines that somebody else wrote."""

from __future__ import annotations

import io
import json

import pytest
from ruamel.yaml import YAML

from git_agent_extractors.model import Session
from git_agent_runner.core.model import Note
from git_agent_runner.engines.redact import fit
from git_agent_runner.store import notes
from support.noted import handles, line, record


def test_line_is_what_the_contract_says() -> None:
    assert notes.render(record()) == (
        '- {"schema": 1, "handle": "7f3a9c21", "runId": "20261127T101502Z-codex-7f3a9c21", "agentName": "codex", '
        '"session": {"field": "thread_id", "value": "019a1c2d-0b01-7aaa-8bbb-0123456789ab"}, "branch": "main", '
        '"launch": {"args": ["--model", "gpt-5"]}, "updatedAt": "2026-11-27T10:15:02.250Z", "host": "box"}'
    )


@pytest.mark.parametrize("branch", ["ü/ñ", "a\u2028b\ufeff\x1b[31m\x85", "x: {y}", "--output=pwn", None])
def test_line_is_yaml_with_the_same_values(branch: str | None) -> None:
    text = notes.render(record(branch=branch))
    assert "\n" not in text
    assert YAML(typ="safe").load(io.StringIO(text)) == [json.loads(text[2:])]
    assert [note.branch for note in notes.parse(text)[0]] == [branch]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(
            ["--model", "gpt-5", "-s", "read-only"], ["--model", "gpt-5", "-s", "read-only"], id="plain values"
        ),
        pytest.param(["--yolo", "--oss"], ["--yolo", "--oss"], id="flags without a value"),
        pytest.param(["-c", "model_reasoning_effort=high"], ["-c", "[redacted]"], id="configuration, whatever it is"),
        pytest.param(
            ["-c", 'http_headers={"Authorization"="Basic dXNlcjpwYXNz"}'], ["-c", "[redacted]"], id="header in TOML"
        ),
        pytest.param(["--image=/home/ann/x.png"], ["--image=[redacted]"], id="path"),
        pytest.param(["--output-schema", "s.json"], ["--output-schema", "[redacted]"], id="any other value"),
        pytest.param(["--api-key", "abc"], ["[redacted]"], id="flag that is not codex's"),
        pytest.param(["sk-proj-0123456789abcdefABCDEF"], ["[redacted]"], id="stray word"),
        pytest.param(["-m", "sk-proj-0123456789abcdefABCDEF"], ["-m", "[redacted]"], id="key in a model's place"),
        pytest.param(["-m", "password is swordfish7"], ["-m", "[redacted]"], id="words in a model's place"),
        pytest.param(["--model"], ["[redacted]"], id="flag without its value"),
    ],
)
def test_secrets_do_not_reach_a_note(args: list[str], expected: list[str]) -> None:
    text = notes.render(fit(record(launch_args=tuple(args))))
    assert json.loads(text[2:])["launch"]["args"] == expected


@pytest.mark.parametrize(
    ("engine", "flag", "value", "shown"),
    [
        pytest.param("claude", "--allowedTools", "Bash(mysql:-phunter2.prod)", "Bash([redacted])", id="pattern"),
        pytest.param("claude", "--allowedTools", "Bash(git:*),Read", "Bash([redacted]),Read", id="harmless pattern"),
        pytest.param("claude", "--allowedTools", "Edit Bash(a (hunter2) b)", "Edit,Bash([redacted])", id="nested"),
        pytest.param("claude", "--disallowed-tools", "Bash(hunter2", "[redacted]", id="not closed"),
        pytest.param("claude", "--allowedTools", "Bash)hunter2(", "[redacted]", id="turned round"),
        pytest.param("claude", "--allowedTools", "Bash(x)hunter2", "[redacted]", id="behind"),
        pytest.param("claude", "--allowedTools", "(hunter2)", "[redacted]", id="no tool"),
        pytest.param("claude", "--allowedTools", "(" * 5000 + "hunter2", "[redacted]", id="deep"),
        pytest.param("claude", "--tools", "mcp__db__query", "mcp__db__query", id="a server's tool"),
        pytest.param("claude", "--permission-mode", "acceptEdits", "acceptEdits", id="choice"),
        pytest.param("claude", "--permission-mode", "hunter2", "[redacted]", id="no choice"),
        pytest.param("codex", "--profile", "hunter2", "[redacted]", id="profile"),
        pytest.param("codex", "--remote", "wss://u:hunter2@h/x", "[redacted]", id="URL"),
        pytest.param("copilot", "--allow-tool", "shell(mysql -phunter2)", "shell([redacted])", id="copilot"),
        pytest.param("copilot", "--allow-url", "https://hunter2.example.com", "[redacted]", id="copilot URL"),
        pytest.param("copilot", "--secret-env-vars", "HUNTER2", "[redacted]", id="names of secrets"),
        pytest.param("gemini", "--allowed-tools", "run_shell_command(x)", "run_shell_command([redacted])", id="gemini"),
        pytest.param("gemini", "--sandbox-image", "reg.corp/hunter2:1", "[redacted]", id="image"),
        pytest.param("qwen", "--core-tools", "ShellTool(ls hunter2)", "ShellTool([redacted])", id="qwen"),
    ],
)
def test_of_a_permission_only_the_tools_word_reaches_a_note(engine: str, flag: str, value: str, shown: str) -> None:
    """Faults C6: what a tool may be used with is the person's own, passwords and hosts among it."""
    run_id = f"20261127T101502Z-{engine}-7f3a9c21"
    text = notes.render(fit(record(launch_args=(flag, value), agent_name=engine, run_id=run_id)))
    assert "hunter2" not in text.lower()
    assert "=".join(json.loads(text[2:])["launch"]["args"]) == f"{flag}={shown}"


def test_note_carries_every_field_and_keys_of_a_newer_schema() -> None:
    found, problems = notes.parse(line(schema=2, mood="good"), "c0ffee")
    assert problems == []
    assert found == [
        Note(
            handle="7f3a9c21",
            run_id="20261127T101502Z-codex-7f3a9c21",
            agent_name="codex",
            session=Session("thread_id", "019a1c2d-0b01-7aaa-8bbb-0123456789ab"),
            branch="main",
            launch_args=("--model", "gpt-5"),
            updated_at="2026-11-27T10:15:02.250Z",
            host="box",
            schema=2,
            commit="c0ffee",
            extra={"mood": "good"},
        )
    ]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param("reviewed by me", id="a person's own line"),
        pytest.param(notes.render(record())[2:], id="no sequence mark"),
        pytest.param(notes.render(record())[:-1], id="cut off"),
        pytest.param("- {}", id="empty"),
        pytest.param("- " + "[" * 5000, id="deep"),
        pytest.param('- {"a": ' + "[" * 60000, id="deep in an object"),
        pytest.param(line(host="x" * (64 << 10)), id="too long"),
        pytest.param(line(handle="../../xx"), id="handle is a path"),
        pytest.param(line(handle=12345678), id="handle is a number"),
        pytest.param(line(runId="20261127T101502Z-codex-00000000"), id="run of another handle"),
        pytest.param(line(runId="../20261127T101502Z-codex-7f3a9c21"), id="run id is a path"),
        pytest.param(line(agentName="../codex"), id="engine is a path"),
        pytest.param(line(agentName="--codex"), id="engine is a flag"),
        pytest.param(line(session="x"), id="session is text"),
        pytest.param(line(session={"field": "thread_id", "value": None}), id="half a session"),
        pytest.param(line(launch={"args": "--yolo"}), id="args are text"),
        pytest.param(line(launch={"args": [["--yolo"]]}), id="args are nested"),
        pytest.param(line(branch=7), id="branch is a number"),
        pytest.param(line(updatedAt="yesterday"), id="no time"),
        pytest.param(line(updatedAt="2026-02-31T10:15:02Z"), id="no such day"),
        pytest.param(line(schema=True), id="schema is no number"),
        pytest.param(line(schema=0), id="schema before the first"),
        pytest.param(line(host=...), id="key missing"),
        pytest.param(line(branch="x").replace('"x"', '"\\ud800"'), id="half a character"),
        pytest.param(line(branch="x").replace('"x"', '"\udcff"'), id="invalid UTF-8"),
        pytest.param(line(schema=1).replace('"schema": 1', '"schema": ' + "9" * 5000), id="huge number"),
    ],
)
def test_only_well_formed_lines_count(bad: str) -> None:
    found, problems = notes.parse(f"\n{bad}\n\n{line('00000001')}\n")
    assert handles(found) == ["00000001"]
    assert problems == ["line 2 is not a run record"]


@pytest.mark.parametrize(
    ("times", "newest"),
    [
        pytest.param(["2026-11-27T10:15:02Z", "2026-11-27T10:15:03Z"], 1, id="second"),
        pytest.param(["2026-11-27T10:15:03Z", "2026-11-27T10:15:02Z"], 0, id="first"),
        pytest.param(["2026-11-27T10:15:02Z", "2026-11-27T10:15:02.5Z"], 1, id="a fraction is later than none"),
        pytest.param(["2026-11-27T10:15:02.5Z", "2026-11-27T10:15:02.45Z"], 0, id="fractions of other lengths"),
    ],
)
def test_newest_line_of_a_handle_wins(times: list[str], newest: int) -> None:
    found, _ = notes.parse("\r\n".join(line(updatedAt=time) for time in times))
    assert [note.updated_at for note in found] == [times[newest]]
