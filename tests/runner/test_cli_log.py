"""`git agent log`: the story of a run, for a person and for a program."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from support.cli import PROGRAM, Cli


def said(cli: Cli, *lines: dict[str, object]) -> str:
    """A codex run whose transcript has these events after those of the stand-in; its handle."""
    record = cli.begin("codex")
    path = Path(cli.layout.attempt(record.run_id, 1)) / "stdout"
    path.write_bytes(path.read_bytes() + "".join(json.dumps(line) + "\n" for line in lines).encode())
    return record.handle


def item(kind: str, when: str = "completed", **fields: object) -> dict[str, object]:
    return {"type": f"item.{when}", "item": {"type": kind, **fields}}


def test_all_attempts_with_their_messages_in_order(cli: Cli) -> None:
    cli.begin("claude")
    cli.ok("resume", "go on\nand on")
    out = cli.ok("log").out
    handle = cli.record().handle
    assert out.startswith(f"run {handle}  claude on main\n\nattempt 1  start, ")
    first, second = out.split("\nattempt 2  resume, ")
    assert "completed\n> begin\n" in first
    assert "completed\n> go on\n> and on\n" in second
    assert cli.ok("log", "--attempt", "2").out.count("attempt ") == 1


def test_what_the_agent_did(cli: Cli) -> None:
    handle = said(
        cli,
        item("reasoning", text="think"),
        item("command_execution", "started", command="bash -lc 'seq 9'"),
        item(
            "command_execution",
            command="bash -lc 'seq 9'",
            aggregated_output="1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            exit_code=0,
        ),
        item("agent_message", text="done\x1b[2J"),
        {"type": "brand.new", "x": 1},
        {"type": "brand.new", "x": 2},
    )
    out = cli.ok("log", handle).out
    assert "think\n$ seq 9\n  1\n  2\n  3\n  4\n  5\n  6\n  … 3 more lines\ndone^[[2J\n" in out
    assert out.endswith("events that are not known: brand.new 2\n")
    assert "\x1b" not in out
    assert "  6\n  7\n  8\n  9\ndone" in cli.ok("log", "--full", handle).out


def test_one_object_for_each_event(cli: Cli) -> None:
    said(cli, item("agent_message", text="last"))
    told = [json.loads(line) for line in cli.ok("log", "--json").out.splitlines()]
    assert {tuple(one) for one in told} == {("schema", "attempt", "kind", "name", "text", "data")}
    assert (told[-1]["kind"], told[-1]["text"], told[-1]["attempt"]) == ("message", "last", 1)


def test_an_attempt_that_is_not_there(cli: Cli) -> None:
    cli.begin()
    done = cli.run("log", "--attempt", "2", "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "unknown_attempt")


def on_terminal(cli: Cli, *words: str, **environ: str) -> tuple[int, str]:
    eyes, terminal = pty.openpty()
    env = {**cli.environ(TERM="xterm"), **environ}
    process = subprocess.Popen(
        [*PROGRAM, "log", *words], cwd=cli.repo.path, env=env, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            seen += os.read(eyes, 65536)
        except OSError:  # EIO: nobody has the terminal any more
            break
    os.close(eyes)
    return process.wait(), seen.decode()


@pytest.mark.parametrize("variable", ["GIT_PAGER", "PAGER"])
def test_a_pager_on_a_terminal(cli: Cli, variable: str) -> None:
    cli.begin()
    status, seen = on_terminal(cli, **{variable: "sed -e 's/^/paged /'"})
    assert (status, seen.startswith("paged run ")) == (0, True)
    status, seen = on_terminal(cli, "--no-pager", **{variable: "sed -e 's/^/paged /'"})
    assert (status, "paged" in seen) == (0, False)


def test_a_pager_that_is_left_early_is_no_failure(cli: Cli) -> None:
    said(cli, *[item("agent_message", text="x" * 1000) for _ in range(500)])
    status, seen = on_terminal(cli, GIT_PAGER="head -n 1")
    assert (status, seen.count("\n")) == (0, 1)


def test_gits_setting_but_not_from_a_tracked_file(cli: Cli) -> None:
    cli.begin()
    cli.repo.git("config", "core.pager", "sed -e 's/^/paged /'")
    assert on_terminal(cli)[1].startswith("paged run ")
    cli.repo.git("config", "--unset", "core.pager")
    (cli.repo.path / "shared.cfg").write_text("[core]\n\tpager = sed -e 's/^/paged /'\n")
    cli.repo.git("config", "include.path", "../shared.cfg")
    assert on_terminal(cli, PAGER="cat")[1].startswith("run ")


def test_no_pager_is_asked_for_elsewhere(cli: Cli) -> None:
    cli.begin()
    assert cli.ok("log", GIT_PAGER="sed -e 's/^/paged /'").out.startswith("run ")


def test_a_line_that_is_too_long_to_be_read_is_not_missing_without_a_word(cli: Cli) -> None:
    """A tool's result with a large picture in it. Faults B5."""
    long = item("command_execution", aggregated_output="x" * (17 << 20), command="cat picture", exit_code=0)
    said(cli, long, item("agent_message", text="after it"))
    note = "stdout line 5: longer than 16 MiB, skipped"
    for words in (("log",), ("log", "--full"), ("log", "--json"), ("show",)):
        out = cli.ok(*words).out
        assert note in out, words
        assert "after it" in out, words
