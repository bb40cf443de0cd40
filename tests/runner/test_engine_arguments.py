"""Flags are read by the engine's table and written so that no value is lost and none becomes a flag."""

from __future__ import annotations

from itertools import permutations

import pytest

from git_agent_runner.core.errors import UsageError
from git_agent_runner.engines import arguments, load
from git_agent_runner.engines.spec import Option

OPTIONS = (
    Option(("-m", "--model"), "one", "model"),
    Option(("-c", "--config"), "one", widens=True, repeats=True),
    Option(("-s", "--sandbox"), "one", "permission", widens=True, excludes=("--full-auto",)),
    Option(("--port",), "one"),
    Option(("--chrome",)),
    Option(("--no-chrome",)),
    Option(("--full-auto",), "none", "permission", until=(0, 150), widens=True),
    Option(("-i", "--image"), "many"),
    Option(("--allowedTools",), "many", "permission", widens=True),
    Option(("-d", "--debug"), "optional"),
    Option(("-d2e", "--debug-to-stderr")),
    Option(("-v", "--verbose")),
    Option(("-r", "--resume"), "optional", "selector"),
    Option(("--continue",), "none", "selector"),
    Option(("--output-format",), "one", "format"),
    Option(("-p", "--print"), "none", "format"),
    Option(("--prompt",), "one", "prompt"),
    Option(("-C", "--cd"), "one", "directory"),
    Option(("--prompt-interactive",), "one", "interactive"),
    Option(("--ephemeral",), "none", "no_session", since=(0, 117)),
    Option(("-h", "--help"), "none", "exit"),
)


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        pytest.param(("--model", "gpt-5"), ("--model", "gpt-5"), id="value in its own word"),
        pytest.param(("--model=gpt-5",), ("--model=gpt-5",), id="value after an equals sign"),
        pytest.param(("-mgpt-5",), ("-m", "gpt-5"), id="value attached to a short flag"),
        pytest.param(("-m=gpt-5",), ("-m", "gpt-5"), id="short flag with an equals sign"),
        pytest.param(("-cmodel=x",), ("-c", "model=x"), id="attached value that has an equals sign"),
        pytest.param(("--model", "--full-auto"), ("--model=--full-auto",), id="value that looks like a flag"),
        pytest.param(("-m-v",), ("--model=-v",), id="attached value that looks like a flag"),
        pytest.param(("--model", ""), ("--model", ""), id="empty value"),
        pytest.param(("-vp", "-m", "x"), ("-v", "-m", "x"), id="cluster, one of it ours to choose"),
        pytest.param(("-vmx",), ("-v", "-m", "x"), id="cluster that ends in a value"),
        pytest.param(("-d2e",), ("-d2e",), id="short flag of three letters is not a cluster"),
        pytest.param(("--debug", "-v"), ("--debug", "-v"), id="optional value left out"),
        pytest.param(("--debug", "api", "-v"), ("--debug=api", "-v"), id="optional value given"),
        pytest.param(
            ("--allowedTools", "Bash", "Edit(*.py)", "-v"),
            ("--allowedTools=Bash", "--allowedTools=Edit(*.py)", "-v"),
            id="variadic flag",
        ),
        pytest.param(("-i", "a.png", "b.png"), ("--image=a.png", "--image=b.png"), id="short variadic flag"),
        pytest.param(("--new", "fast", "-v"), ("--new", "fast", "-v"), id="unknown flag keeps its word"),
        pytest.param(("--new=fast", "hello"), ("--new=fast",), id="unknown flag with an equals sign"),
        pytest.param(("--new", "-v"), ("--new", "-v"), id="unknown flag before a flag"),
        pytest.param(("-v-x",), ("-v-x",), id="odd cluster is left whole"),
        pytest.param(("--resume", "7f3a", "-v"), ("-v",), id="selector with its value"),
        pytest.param(("--resume=7f3a", "--continue", "-v"), ("-v",), id="two selectors"),
        pytest.param(("--resume", "-v"), ("-v",), id="selector without its value"),
        pytest.param(("--output-format", "json", "-v"), ("-v",), id="output format"),
        pytest.param(("--prompt", "old message", "-v"), ("-v",), id="flag that carries a message"),
        pytest.param(("--prompt-interactive=old", "-v"), ("-v",), id="terminal form"),
        pytest.param(("-C", "/w", "-v"), ("-v",), id="directory"),
        pytest.param(("-h", "-v"), ("-v",), id="prints and ends"),
        pytest.param(("exec", "-v", "old message", "-"), ("-v",), id="stray words"),
        pytest.param(("-v", "--", "-m", "x"), ("-v",), id="all after a double dash is a message"),
        pytest.param(("--ephemeral",), ("--ephemeral",), id="leaves no session"),
    ],
)
def test_launch_args(args: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert arguments.launch_args(OPTIONS, args) == kept


@pytest.mark.parametrize(
    "args",
    [
        ("-mx", "--allowedTools", "Bash", "Edit", "--debug", "api", "-vp"),
        ("--model", "--full-auto", "--new", "fast", "-c", "-x=1"),
    ],
)
def test_what_was_written_reads_the_same(args: tuple[str, ...]) -> None:
    kept = arguments.launch_args(OPTIONS, args)
    assert arguments.launch_args(OPTIONS, kept) == kept
    assert [word.values for word in arguments.parse(OPTIONS, kept) if word.values]


@pytest.mark.parametrize("args", [("--model",), ("--allowedTools",), ("--allowedTools", "--verbose")])
def test_a_flag_without_its_value_is_named(args: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=rf"^{args[0]} needs a value$"):
        arguments.launch_args(OPTIONS, args)


def test_strays_are_told_apart_from_values() -> None:
    args = ("exec", "-m", "x", "--new", "y", "hello", "-", "--", "-v")
    assert arguments.strays(OPTIONS, args) == ("exec", "hello", "-", "--", "-v")


def test_rejected_names_flags_of_other_versions() -> None:
    args = ("--full-auto", "--ephemeral", "--new")
    assert arguments.rejected(OPTIONS, args, (0, 98)) == ("--ephemeral",)
    assert arguments.rejected(OPTIONS, args, (0, 128, 0)) == ()
    assert arguments.rejected(OPTIONS, args, (0, 171, 0)) == ("--full-auto",)


@pytest.mark.parametrize(
    ("args", "directory"),
    [
        pytest.param(("-m", "-C", "--cd=/b"), "/b", id="value of another flag is not a directory flag"),
        pytest.param(("-C", "/a", "--cd", "/b"), "/b", id="last one counts"),
        pytest.param(("-v",), None, id="none"),
    ],
)
def test_directory(args: tuple[str, ...], directory: str | None) -> None:
    assert arguments.directory(OPTIONS, args) == directory


def test_find_by_role() -> None:
    args = ("-s", "read-only", "--resume", "7f3a", "-m", "--continue")
    assert [word.values for word in arguments.find(OPTIONS, args, "selector")] == [("7f3a",)]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        pytest.param(("-m", "x", "-v"), (), id="harmless"),
        pytest.param(("-mx", "-cmcp_servers={}"), ("-c",), id="attached configuration"),
        pytest.param(("--allowedTools", "Bash", "Edit"), ("--allowedTools",), id="variadic counts once"),
        pytest.param(("--brand-new",), ("--brand-new",), id="unknown flag"),
        pytest.param(("-v", "some words"), (), id="stray word"),
    ],
)
def test_widening(args: tuple[str, ...], named: tuple[str, ...]) -> None:
    assert arguments.widening(OPTIONS, args) == named


@pytest.mark.parametrize(
    ("recorded", "given", "merged"),
    [
        pytest.param(("--full-auto", "-m", "x"), ("-s", "read-only"), ("-m", "x", "-s", "read-only"), id="excluded"),
        pytest.param(("-s", "read-only"), ("-v",), ("-s", "read-only", "-v"), id="another"),
        pytest.param((), ("--full-auto", "-s", "read-only"), ("--full-auto", "-s", "read-only"), id="both given"),
        pytest.param(("--port", "1"), ("--port=2",), ("--port=2",), id="configuration that does not repeat"),
        pytest.param(("--chrome",), ("--no-chrome",), ("--no-chrome",), id="opposite"),
        pytest.param(("--no-chrome",), ("--chrome",), ("--chrome",), id="opposite of the opposite"),
        pytest.param(("--no-new", "x"), ("--new",), ("--no-new", "x", "--new"), id="unknown"),
    ],
)
def test_overlay(recorded: tuple[str, ...], given: tuple[str, ...], merged: tuple[str, ...]) -> None:
    assert arguments.overlay(OPTIONS, recorded, given) == merged


MODES: dict[str, list[tuple[str, ...]]] = {
    "claude": [("--dangerously-skip-permissions",), ("--permission-mode", "plan")],
    "codex": [("--yolo",), ("--full-auto",), ("--approve-for-me",), ("-s", "read-only")],
    "codex -i": [("--yolo",), ("--full-auto",), ("--approve-for-me",), ("-a", "never")],
    "gemini": [("--yolo",), ("--approval-mode", "plan")],
    "qwen": [("-y",), ("--approval-mode", "plan")],
    "iflow": [("--yolo",), ("--default",), ("--plan",), ("--autoEdit",)],
    "copilot": [("--mode", "plan"), ("--autopilot",)],
    "copilot 2": [("--autopilot",), ("--plan",)],
}


@pytest.mark.parametrize("engine", MODES)
def test_a_mode_given_anew_takes_the_place_of_the_recorded_one(engine: str) -> None:
    """Beside each other the wider one wins in silence (claude, codex's --sandbox), or the engine refuses both."""
    options = load(engine.partition(" ")[0]).options
    for recorded, given in permutations(MODES[engine], 2):
        assert arguments.overlay(options, recorded, given) == given
        assert arguments.overlay(options, given, given) == given


def test_what_a_new_mode_leaves_standing() -> None:
    """claude refuses a bypass of its restricted mode, which must not end unasked; copilot's --plan combines."""
    bypass = ("--dangerously-skip-permissions",)
    assert arguments.overlay(load("claude").options, ("--restricted",), bypass) == ("--restricted", *bypass)
    assert arguments.overlay(load("claude").options, bypass, ("--restricted",)) == ("--restricted",)
    both = ("--mode", "autopilot", "--plan")
    assert arguments.overlay(load("copilot").options, both[:2], both[2:]) == both


def test_overlay_replaces_a_flag_and_adds_configuration() -> None:
    recorded = ("-m", "old", "-c", "a=1", "--allowedTools=Bash", "-v", "--new=1")
    given = ("--model=new", "-c", "b=2", "--allowedTools", "Edit")
    assert arguments.overlay(OPTIONS, recorded, given) == (
        *("-c", "a=1", "--allowedTools=Bash", "-v", "--new=1"),
        *("--model=new", "-c", "b=2", "--allowedTools=Edit"),
    )
