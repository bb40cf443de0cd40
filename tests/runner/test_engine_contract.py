"""What holds for every engine of the table, whatever its command line looks like."""

from __future__ import annotations

import pytest

from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.arguments import launch_args, parse, rejected, widening
from git_agent_runner.engines.spec import Engine, Invocation, Launch, Option, Version
from git_agent_runner.errors import UserError

UUID = "0199c9a8-5b1e-7a10-8f00-1234567890ab"
SESSIONS = {
    "codex": UUID,
    "claude": UUID,
    "gemini": UUID,
    "opencode": "ses_1f2e3d4c5b6aABCDEFGHijklmn",
    "iflow": f"session-{UUID}",
}
NEWEST: dict[str, Version] = {
    "codex": (0, 171, 0),
    "claude": (2, 1, 332),
    "gemini": (0, 61, 0),
    "opencode": (1, 18, 33),
    "iflow": (0, 5, 19),
}
DROPPED = {"selector", "format", "prompt", "interactive", "directory", "exit"}

every_engine = pytest.mark.parametrize("name", MODULES)
both_forms = pytest.mark.parametrize("terminal", [False, True], ids=["headless", "terminal"])
# What could pass for a flag of one of the engines, or for a word that has a meaning to them.
hostile = pytest.mark.parametrize(
    "message", ["--yolo", "-", "--", "--resume=x", "- [ ] do the thing", "---\ntitle: x\n---\nbody", "--session other"]
)


def launch(name: str, *args: str, message: str | None = "go on", terminal: bool = False) -> Launch:
    engine = load(name)
    return Launch(engine.binary, NEWEST[name], args, message, SESSIONS[name], "/w", "/w", terminal)


def compiled(name: str, given: Launch) -> tuple[Invocation, Invocation]:
    engine = load(name)
    fresh = given._replace(session=SESSIONS[name] if engine.mint(given.version) else None)
    return engine.start(fresh), engine.resume(given)


def holding(engine: Engine, session: str, invocation: Invocation) -> list[str]:
    return [word for word in invocation.argv if session in word]


def sample(option: Option, name: str) -> tuple[str, ...]:
    return (name,) if option.value == "none" else (name, "VALUE")


def test_the_samples_cover_the_table() -> None:
    assert set(SESSIONS) == set(NEWEST) == set(MODULES)


@every_engine
def test_the_record_is_whole(name: str) -> None:
    engine = load(name)
    assert engine.name == name
    assert engine.field in {"thread_id", "session_id", "session-id", "sessionID"}
    assert engine.id_pattern.fullmatch(SESSIONS[name])
    assert engine.parse_version(f"{name} {'.'.join(map(str, NEWEST[name]))}") == NEWEST[name]
    assert engine.first_resume <= NEWEST[name]


@every_engine
@both_forms
@hostile
def test_a_message_is_carried_once_and_never_as_a_flag(name: str, terminal: bool, message: str) -> None:
    load(name).check_message(NEWEST[name], message)
    for invocation in compiled(name, launch(name, message=message, terminal=terminal)):
        words, cut, prompt = list(invocation.argv), "--" in invocation.argv, [""]
        if cut:
            words, prompt = words[: words.index("--")], words[words.index("--") + 1 :]
        joined = [word for word in words if word.startswith("--") and word.endswith(f"={message}")]
        carried = (invocation.stdin == message.encode(), prompt == [message], len(joined) == 1)
        # codex's own `-` says "read stdin": there it is ours, not the message.
        assert message not in words or (message == "-" and carried[0])
        assert sum(carried) == 1
        assert invocation.stdin is None or not terminal


@every_engine
@both_forms
def test_resume_names_the_session_once(name: str, terminal: bool) -> None:
    start, resume = compiled(name, launch(name, terminal=terminal))
    assert len(holding(load(name), SESSIONS[name], resume)) == 1
    minted = load(name).mint(NEWEST[name]) is not None
    assert len(holding(load(name), SESSIONS[name], start)) == int(minted)


@every_engine
@pytest.mark.parametrize("session", [None, "", "latest", "1", "--last", "-", "../x", "a b", "\x1b[2J", UUID.upper()])
def test_an_invalid_session_is_never_compiled(name: str, session: str | None) -> None:
    with pytest.raises(UserError) as error:
        load(name).resume(launch(name)._replace(session=session))
    assert error.value.code == "session_malformed"


@every_engine
@both_forms
def test_flags_keep_their_values_and_old_ones_are_dropped(name: str, terminal: bool) -> None:
    options = load(name).options
    old = [
        word
        for option in options
        if option.role in DROPPED - {"prompt"}
        for word in sample(option, option.names[0])
        if option.value != "many"
    ]
    prompt = ["--prompt=old message"] if any("--prompt" in option.names for option in options) else []
    for invocation in compiled(name, launch(name, *old, "--model", "m-5", *prompt, "old words", terminal=terminal)):
        argv = invocation.argv
        assert argv[argv.index("--model") + 1] == "m-5"
        assert not [word for word in argv if "VALUE" in word or "old" in word]
        assert "--help" not in argv


@every_engine
@both_forms
def test_the_same_launch_compiles_to_the_same_invocation(name: str, terminal: bool) -> None:
    given = launch(name, "--model", "m-5", terminal=terminal)
    assert compiled(name, given) == compiled(name, given)


@every_engine
def test_where_it_runs_and_what_it_reads(name: str) -> None:
    for invocation in compiled(name, launch(name)):
        assert invocation.cwd == "/w"
        assert invocation.argv[0] == load(name).binary


@every_engine
def test_names_are_unique_and_ranges_have_a_length(name: str) -> None:
    names = [flag for option in load(name).options for flag in option.names]
    assert len(names) == len(set(names))
    for option in load(name).options:
        assert option.since is None or option.until is None or option.since < option.until, option.names
        assert option.source, option.names


@every_engine
def test_each_flag_by_each_name_is_kept_or_dropped_with_its_value(name: str) -> None:
    options = load(name).options
    for option in options:
        for flag in option.names:
            kept = launch_args(options, (*sample(option, flag), "--unknown=1"))
            words = parse(options, kept)
            assert words[-1].words == ("--unknown=1",)
            assert len(words) == (1 if option.role in DROPPED else 2), flag
            assert all(word.values in ((), ("VALUE",)) for word in words[:-1]), flag
            assert (words[0].values == ("VALUE",)) is (len(words) == 2 and option.value != "none"), flag


@every_engine
def test_a_version_without_a_flag_rejects_it(name: str) -> None:
    options = load(name).options
    for option in options:
        given = sample(option, option.names[0])
        if option.since:
            assert rejected(options, given, (0,)) == (option.names[0],)
            assert rejected(options, given, option.since) == ()
        if option.until:
            assert rejected(options, given, option.until) == (option.names[0],)


@every_engine
def test_what_lets_an_agent_do_more_is_marked(name: str) -> None:
    options = load(name).options
    telling = (
        "dangerous",
        "yolo",
        "sandbox",
        "approv",
        "bypass",
        "--mcp-config",
        "settings",
        "add-dir",
        "allowed",
        "--config",
    )
    for option in options:
        for flag in option.names:
            if option.role not in DROPPED and any(word in flag.replace("disallowed", "") for word in telling):
                assert widening(options, sample(option, flag)) == (flag,)


@every_engine
def test_trust_is_a_flag_that_widens(name: str) -> None:
    """It is named to the person, kept when the person gives it, and refused from a stranger's note."""
    engine = load(name)
    if engine.trust:
        assert launch_args(engine.options, (engine.trust,)) == (engine.trust,)
        assert widening(engine.options, (engine.trust,)) == (engine.trust,)
