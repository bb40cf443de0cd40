"""What a person is shown of tools that the engine did not let its agent use. Nothing is allowed by us. Faults B2."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support import docs
from support.cli import Cli

ID = "8fe03d74-77e1-4cea-9127-7d706ad98311"
SES = "ses_de0d732d2ffeZz8jXsLhQ5769v"
PAGE = docs.section((docs.ROOT / "docs/permissions.md").read_text(), "What the summary shows")
SHOWN = {engine: line.strip("`") for engine, line in docs.rows(PAGE)}  # faults F12


def printed(cli: Cli, *lines: dict[str, Any]) -> str:
    path = cli.home / "printed"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def claude(*denials: tuple[str, dict[str, str]]) -> list[dict[str, Any]]:
    listed = [{"tool_name": name, "tool_use_id": "toolu_1", "tool_input": given} for name, given in denials]
    facts = {"type": "result", "subtype": "success", "is_error": False, "session_id": ID, "result": "done"}
    return [{"type": "system", "subtype": "init", "session_id": ID}, {**facts, "permission_denials": listed}]


REJECTED = "The user rejected permission to use this specific tool call."
OPENCODE_STATE = {"status": "error", "input": {"command": "make"}, "error": REJECTED}
OPENCODE = [
    {"type": "tool_use", "sessionID": SES, "part": {"type": "tool", "tool": "bash", "state": OPENCODE_STATE}},
    {"type": "step_finish", "sessionID": SES, "part": {"reason": "stop", "tokens": {}, "cost": 0}},
]
COPILOT = [
    {"type": "tool.execution_start", "data": {"toolName": "bash", "arguments": {"command": "make"}}},
    {"type": "tool.execution_complete", "data": {"success": False, "error": {"message": "no", "code": "denied"}}},
    {"type": "result", "sessionId": ID, "exitCode": 0, "usage": {}},
]
THREAD = "01a21f23-5ab8-7ef1-9437-807dbdda8fbf"
CODEX_ITEM = {"type": "command_execution", "command": "bash -lc 'echo > f'", "exit_code": 1, "status": "failed"}
CODEX = [
    {"type": "thread.started", "thread_id": THREAD},
    {"type": "item.started", "item": {**CODEX_ITEM, "aggregated_output": ""}},
    {"type": "item.completed", "item": {**CODEX_ITEM, "aggregated_output": "bash: f: Read-only file system\n"}},
    {"type": "turn.completed", "usage": {}},
]
QWEN = [
    {"type": "system", "subtype": "init", "session_id": ID, "tools": ["read_file"]},
    {"type": "result", "subtype": "success", "session_id": ID, "is_error": False, "result": "done"},
]
EDITS = ["--approval-mode", "auto-edit"]


@pytest.mark.parametrize(
    ("engine", "lines", "refused", "allow"),
    [
        pytest.param(
            "claude",
            claude(("Bash", {"command": "make test"}), ("Write", {"file_path": "notes.txt"})),
            [("Bash", "make test"), ("Write", "notes.txt")],
            [["--allowedTools=Bash,Write"]],
            id="claude",
        ),
        pytest.param("codex", CODEX, [("shell", "echo > f")], [["--sandbox", "workspace-write"]], id="codex"),
        pytest.param("opencode", OPENCODE, [("bash", "make")], [["--auto"]], id="opencode"),
        pytest.param("copilot", COPILOT, [("bash", "make")], [["--allow-all-tools"]], id="copilot"),
        pytest.param("qwen", QWEN, None, [EDITS, ["--yolo"]], id="qwen"),
        pytest.param("gemini", None, None, [["--approval-mode", "auto_edit"], ["--yolo"]], id="gemini"),
    ],
)
def test_the_flag_that_allows_it_is_named(
    cli: Cli,
    engine: str,
    lines: list[dict[str, Any]] | None,
    refused: list[tuple[str, str]] | None,
    allow: list[list[str]],
) -> None:
    session = {"opencode": SES, "codex": THREAD}.get(engine, ID)
    out = {"FAKE_OUT": printed(cli, *lines), "FAKE_ID": session} if lines else {}
    done = cli.run("start", "-e", engine, "--json", "begin", stdin=None, cwd=None, **out)
    facts = done.json
    if refused is not None:
        assert [(one["tool"], one["text"]) for one in facts["refused"]] == refused
    assert facts["refused"]
    assert facts["allow"] == allow
    hints = [found[1] for line in done.lines if (found := re.search(r"git agent (resume \w+ .*)", line))]
    assert [hint.split(" -- ")[1].split() for hint in hints] == allow
    if refused is not None:
        calls = f"{len(refused)} tool call{'s' * (len(refused) > 1)}"
        told = ", ".join(f"{tool}: {text}" for tool, text in refused)
        assert f"warning: {engine} refused {calls} ({told})" in done.lines
    lasting = [line for line in done.lines if line.startswith("hint: to allow it in every new run: git config ")]
    assert len(lasting) == 1
    assert engine == "codex" or SHOWN[engine] in done.lines
    assert cli.record().launch_args == ()
    # The first of them, as it is written there, is taken: and then nothing is missing any more.
    words = hints[0].replace('"<message>"', "please").split()
    again = cli.ok(words[0], "--json", *words[1:])
    assert set(allow[0]) <= set(cli.calls()[-1]["argv"])
    assert (again.json["refused"], again.json["allow"]) == ([], [])


@pytest.mark.parametrize(
    ("engine", "flags"),
    [
        ("gemini", ["--approval-mode", "plan"]),
        ("gemini", ["--yolo"]),
        ("codex", ["--sandbox", "read-only"]),
        ("codex", ["-c", "sandbox_mode=read-only"]),
    ],
)
def test_what_the_person_has_chosen_is_not_told_back(cli: Cli, engine: str, flags: list[str]) -> None:
    done = cli.run("start", "-e", engine, "--json", "begin", "--", *flags)
    assert (done.status, done.json["refused"], done.lines[1:]) == (0, [], [])


def test_many_refusals_are_counted_and_three_of_them_shown(cli: Cli) -> None:
    lines = claude(*(("Bash", {"command": f"make {number}"}) for number in range(5)))
    done = cli.ok("start", "-e", "claude", "begin", FAKE_OUT=printed(cli, *lines), FAKE_ID=ID)
    assert "warning: claude refused 5 tool calls (Bash: make 0, Bash: make 1, Bash: make 2, …)" in done.lines


def rollout(cli: Cli) -> Path:
    (found,) = cli.home.glob(".codex/sessions/*/*/*/*.jsonl")
    return found


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        pytest.param(["read-only"], True, id="read-only"),
        pytest.param(["workspace-write"], False, id="by its configuration it may write"),
        pytest.param(["workspace-write", "read-only"], True, id="the newest turn counts"),
        pytest.param([], False, id="nothing tells it"),
    ],
)
def test_codex_says_in_its_session_that_it_may_not_write(cli: Cli, kinds: list[str], told: bool) -> None:
    """codex 0.171.0 prints nothing of a short command that failed; its session has the sandbox of each turn."""
    cli.begin("codex")
    turns = [{"type": "turn_context", "payload": {"sandbox_policy": {"type": kind}}} for kind in kinds]
    with rollout(cli).open("a") as file:
        file.writelines(json.dumps(turn) + "\n" for turn in turns)
    done = cli.ok("resume", "--json", "write it")
    assert done.json["refused"] == ([{"tool": "write access", "text": "its sandbox is read-only"}] if told else [])
    assert ("-- --sandbox workspace-write" in done.err) is told
    assert (SHOWN["codex"] in done.lines) is told
