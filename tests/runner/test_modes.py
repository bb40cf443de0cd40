"""`--mode`, `agent.mode` and `agent.<engine>.mode`: what an agent may do, in one word. Issue 14.

That the flags do what they say is tried on real engines in tests/system/test_flags.py.
"""

from __future__ import annotations

import pytest

from git_agent_runner.core.model import AgentMode
from git_agent_runner.engines import arguments, load, modes
from git_agent_runner.engines.spec import Allowance
from support.cli import Cli

SHIPPED = ("claude", "codex", "gemini", "opencode", "qwen", "copilot")
NEWEST = (99,)
BYPASS = "--dangerously-skip-permissions"


def last(cli: Cli) -> list[str]:
    """The command line of the engine that ran last."""
    found: list[str] = cli.calls()[-1]["argv"]
    return found


@pytest.mark.parametrize(
    ("keys", "words", "flags"),
    [
        pytest.param({"agent.mode": "edit"}, [], ["--permission-mode", "acceptEdits"], id="for all engines"),
        pytest.param({"agent.claude.mode": "full"}, [], [BYPASS], id="for one engine"),
        pytest.param({"agent.mode": "full", "agent.claude.mode": "read"}, [], ["--permission-mode", "plan"], id="one"),
        pytest.param({"agent.mode": "full", "agent.claude.mode": ""}, [], [], id="one is left out"),
        pytest.param({"agent.mode": "full"}, ["--mode", "read"], ["--permission-mode", "plan"], id="the option"),
        pytest.param({"agent.mode": "full", "agent.codex.mode": "edit"}, [], [BYPASS], id="of another engine"),
        pytest.param(
            {"agent.mode": "edit", "agent.claude.args": "--permission-mode default --model m"},
            [],
            ["--permission-mode", "default", "--model", "m"],
            id="the engine's own flags are more exact",
        ),
        pytest.param(
            {"agent.mode": "read", "agent.claude.args": "--allowedTools=Bash --model m"},
            ["--mode", "edit"],
            ["--model", "m", "--permission-mode", "acceptEdits"],
            id="the option replaces what is set",
        ),
        pytest.param(
            {"agent.mode": "read"},
            ["--", "--permission-mode", "acceptEdits"],
            ["--permission-mode", "acceptEdits"],
            id="flags after -- come last",
        ),
    ],
)
def test_of_a_start(cli: Cli, keys: dict[str, str], words: list[str], flags: list[str]) -> None:
    for key, value in keys.items():
        cli.repo.git("config", key, value)
    cli.ok("start", "-e", "claude", "begin", *words)
    assert cli.record().launch_args == tuple(flags)
    assert last(cli)[last(cli).index("--session-id") + 2 :] == flags


def test_it_is_recorded_and_the_next_one_replaces_it(cli: Cli) -> None:
    cli.ok("start", "-e", "claude", "--mode", "full", "begin", "--", "--model", "m")
    cli.repo.git("config", "agent.mode", "edit")  # for new runs
    cli.ok("resume", "go on")
    assert BYPASS in last(cli)
    cli.ok("resume", "only look", "--mode", "read", "--", "--allowedTools=WebFetch")
    assert cli.record().launch_args == ("--model", "m", "--permission-mode", "plan", "--allowedTools=WebFetch")
    cli.ok("resume", "go on")
    assert BYPASS not in last(cli)
    cli.ok("resume", "now do it", "--mode=edit")
    assert cli.record().launch_args == ("--model", "m", "--permission-mode", "acceptEdits")


@pytest.mark.parametrize("engine", SHIPPED)
@pytest.mark.parametrize("mode", ["read", "edit", "full"])
def test_a_mode_takes_the_place_of_every_other(engine: str, mode: AgentMode) -> None:
    """Whatever was chosen before, by a mode or by hand; what is no permission stays."""
    known = load(engine)
    wanted = [row.flags for row in known.modes if row.mode == mode]
    others = [row.flags for row in known.modes]
    chosen = [
        (name,) if option.value == "none" else (f"{name}=x",)
        for option in known.options
        for name in option.names
        if name.startswith("--") and set(known.choosing).intersection(option.names)
    ]
    assert len(chosen) >= len(known.choosing)
    for before in [*others, *chosen]:
        if (engine, mode) != ("opencode", "read"):
            put = modes.put(known, NEWEST, ("--model", "m", *before), mode)
            assert put == ("--model", "m", *next(iter(wanted)))


@pytest.mark.parametrize("engine", SHIPPED)
def test_the_flags_of_a_mode_are_marked_as_what_a_note_may_not_ask_for(engine: str) -> None:
    known = load(engine)
    for row in known.modes:
        assert arguments.launch_args(known.options, row.flags) == row.flags
        assert arguments.rejected(known.options, row.flags, row.since or (0,)) == ()
        if row.mode != "read" and row.flags:
            assert arguments.widening(known.options, row.flags)


@pytest.mark.parametrize(
    ("engine", "mode", "words"),
    [
        ("iflow", "edit", "git-agent knows no flags of iflow"),
        ("opencode", "read", "git-agent knows no flags of opencode"),
    ],
)
def test_an_engine_without_the_mode(cli: Cli, engine: str, mode: str, words: str) -> None:
    """Nothing starts; the hint leaves the engine out of the person's setting."""
    cli.repo.git("config", "agent.mode", mode)
    done = cli.run("start", "-e", engine, "--json", "begin")
    assert (done.status, done.json["error"]["code"]) == (128, "mode_unsupported")
    assert done.json["error"]["message"].startswith(words)
    assert cli.calls() == []
    cli.repo.git("config", f"agent.{engine}.mode", "")
    assert f"git config agent.{engine}.mode ''" in done.json["error"]["hints"][-1]
    cli.ok("start", "-e", engine, "begin")


def test_on_many_branches(cli: Cli) -> None:
    cli.repo.git("branch", "one")
    cli.ok("start", "-e", "codex", "--mode", "edit", "--branch", "one", "begin")
    assert cli.record().launch_args == ("--sandbox", "workspace-write")


def test_in_a_dry_run(cli: Cli) -> None:
    cli.begin("codex")
    shown = cli.ok("resume", "-n", "--json", "--mode", "full", "go on").json
    assert "--dangerously-bypass-approvals-and-sandbox" in shown["argv"]
    assert cli.record().launch_args == ()


def test_never_from_a_tracked_file(cli: Cli) -> None:
    (cli.repo.path / "tracked").write_text("[agent]\n\tmode = full\n")
    cli.repo.git("config", "include.path", "../tracked")
    done = cli.run("start", "-e", "claude", "--json", "begin")
    assert (done.status, done.json["error"]["code"], cli.calls()) == (128, "untrusted_setting", [])


@pytest.mark.parametrize(
    ("engine", "flags", "setting"),
    [
        ("codex", ("--sandbox", "workspace-write"), "git config agent.codex.mode edit"),
        ("gemini", ("--yolo",), "git config agent.gemini.mode full"),
        ("claude", ("--allowedTools=Bash",), "git config --add agent.claude.args --allowedTools=Bash"),
    ],
)
def test_the_setting_that_makes_it_last(cli: Cli, engine: str, flags: tuple[str, ...], setting: str) -> None:
    """Followed as it is printed, it gives the next start those flags, and none beside them."""
    assert modes.lasting(load(engine), NEWEST, Allowance("it", flags)) == setting
    cli.repo.git(*setting.split()[1:])
    cli.ok("start", "-e", engine, "begin")
    assert cli.record().launch_args == flags
