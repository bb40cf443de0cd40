"""The table of behaviour: each situation in which a session may not come back, under each way of asking for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Cli, ask

LIMITED = Path(__file__).parents[2] / "fixtures/recordings/codex/0.171.0/14a-ratelimit/stdout"
LIMITED_ID = "00000000-0001-7abc-8def-000000000001"

WAYS = {
    "resume": ["resume", "go on"],
    "strict": ["resume", "--strict", "go on"],
    "continue": ["resume", "--fallback", "continue", "go on"],
    "fresh": ["resume", "--fallback", "fresh", "go on"],
    "start --resume": ["start", "--resume", "go on"],
    "start --resume --strict": ["start", "--resume", "--strict", "go on"],
}


class Situation:
    """What stands before the command: a run (or none), and what its engine and its store are like then."""

    def __init__(self, engine: str = "codex", *, run: bool = True, begun: dict[str, str] | None = None) -> None:
        self.engine = engine
        self.run = run
        self.begun = begun or {}
        self.environ: dict[str, str] = {}
        self.change: Callable[[Cli], object] | None = None

    def then(self, change: Callable[[Cli], object] | None = None, **environ: str) -> Situation:
        self.change, self.environ = change, environ
        return self


def lose_store(cli: Cli) -> None:
    shutil.rmtree(cli.home / ".codex/sessions")
    cli.forget_copies()


def another(cli: Cli) -> None:
    """Another session in the same directory, newer than the run's, that somebody began by hand."""
    path = next((cli.home / ".iflow/projects/encoded").iterdir())
    name = "session-00000000-dddd-4aaa-9bbb-000000000000"
    text = path.read_text().replace('"timestamp": "2', '"timestamp": "3')
    path.with_name(f"{name}.jsonl").write_text(text)


def no_binary(cli: Cli) -> None:
    cli.repo.git("config", "agent.codex.binary", "/nowhere/codex")


def broken_binary(cli: Cli) -> None:
    path = cli.home / "broken"
    path.write_text("#!/bin/sh\necho node: not found >&2\nexit 127\n")
    path.chmod(0o755)
    cli.repo.git("config", "agent.codex.binary", str(path))


def forget_version(cli: Cli) -> None:
    shutil.rmtree(cli.home / ".cache/git-agent")


def forget_version_beside_another(cli: Cli) -> None:
    forget_version(cli)
    another(cli)


SITUATIONS = {
    "present": Situation(),
    "no run": Situation(run=False),
    "no session value": Situation(begun={"FAKE_ID": "none"}),
    "gone from the store": Situation().then(lose_store),
    "the engine says gone": Situation().then(FAKE_UNKNOWN="fail"),
    "begins anew in silence": Situation().then(FAKE_UNKNOWN="new"),
    "version too old": Situation().then(forget_version, FAKE_VERSION="0.35.0"),
    "version bad": Situation("iflow").then(forget_version, FAKE_VERSION="0.5.18"),
    "version bad, another is newer": Situation("iflow").then(forget_version_beside_another, FAKE_VERSION="0.5.18"),
    "no binary": Situation().then(no_binary),
    "probe fails": Situation().then(broken_binary),
    "rate limit": Situation(begun={"FAKE_ID": LIMITED_ID}).then(FAKE_OUT=str(LIMITED), FAKE_EXIT="1"),
}

YES = ("resume completed yes -> 0",) * 6
# One cell for each of WAYS: what became of each attempt, then the exit status.
TABLE = {
    "present": YES,
    "no run": ("no_run", "no_run", "no_run", "start completed -> 0", "start completed -> 0", "no_run"),
    "no session value": (
        "session_unknown",
        "session_unknown",
        "continue completed unverified -> 0",
        "fresh completed -> 0",
        "fresh completed -> 0",
        "session_unknown",
    ),
    "gone from the store": (
        "session_missing",
        "session_missing",
        "continue completed yes -> 0",
        "fresh completed -> 0",
        "fresh completed -> 0",
        "session_missing",
    ),
    "the engine says gone": (
        "resume session_missing -> 1",
        "resume session_missing -> 1",
        "resume session_missing, continue session_missing -> 1",
        "resume session_missing, fresh completed -> 0",
        "resume session_missing -> 1",  # its store has the session: faults A10
        "resume session_missing -> 1",
    ),
    "begins anew in silence": (
        "resume completed as_new -> 1",
        "resume completed as_new -> 1",
        "resume completed as_new -> 1",
        "resume completed as_new -> 1",
        "resume completed as_new -> 0",
        "resume completed as_new -> 1",
    ),
    "version too old": (
        "resume_unsupported",
        "resume_unsupported",
        "resume_unsupported",
        "fresh completed -> 0",
        "fresh completed -> 0",
        "resume_unsupported",
    ),
    "version bad": (
        "version_bad",
        "version_bad",
        "continue completed yes -> 0",
        "fresh completed -> 0",
        "continue completed yes -> 0",
        "version_bad",
    ),
    "version bad, another is newer": (
        "version_bad",
        "version_bad",
        "continue completed yes -> 0",
        "fresh completed -> 0",
        "fresh completed -> 0",
        "version_bad",
    ),
    "no binary": ("binary_missing",) * 6,
    "probe fails": ("probe_failed",) * 6,
    "rate limit": ("resume rate_limited yes -> 1",) * 6,
}


def outcome(cli: Cli, status: int, out: str, before: int) -> str:
    """What the command came to, in a few words."""
    told = json.loads(out)
    if "error" in told:
        assert status == 128
        return str(told["error"]["code"])
    record = cli.record(told["handle"])
    made = [cli.attempt(number, record.handle) for number in range(before + 1, record.attempts + 1)]
    attempts = [" ".join(filter(None, (one.kind, one.status, one.resumed))) for one in made]
    return f"{', '.join(attempts)} -> {status}"


@pytest.mark.parametrize("situation", SITUATIONS)
def test_table(here: Cli, situation: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    case = SITUATIONS[situation]
    here.repo.git("config", "agent.engine", case.engine)
    if case.run:
        here.begin(case.engine, cwd=None, **case.begun)
    if case.change:
        case.change(here)
    kept = str(here.repo.path / ".git"), str(here.home)
    for path in kept:
        shutil.copytree(path, f"{path}.kept", symlinks=True)
    for name, value in case.environ.items():
        monkeypatch.setenv(name, value)
    found = []
    for words in WAYS.values():
        capfd.readouterr()
        status = ask(*words, "--json")
        found.append(outcome(here, status, capfd.readouterr().out, int(case.run)))
        for path in kept:
            shutil.rmtree(path)
            shutil.copytree(f"{path}.kept", path, symlinks=True)
    assert dict(zip(WAYS, found, strict=True)) == dict(zip(WAYS, TABLE[situation], strict=True))


def test_words_of_a_session_that_is_gone(cli: Cli) -> None:
    begun = cli.begin()
    lose_store(cli)
    missing = f"session {begun.session.value} cannot be resumed: codex has no such session in {cli.home}/.codex"
    hints = [
        f'hint: start a new session in the same run: git agent resume {begun.handle} --fallback fresh "<message>"',
        "hint: other runs: git agent list",
    ]
    before = cli.state()
    assert cli.run("resume", "x").lines == [f"fatal: {missing}", *hints]
    assert cli.run("resume", "--strict", "x").lines == [f"fatal: Session resumption failed: {missing}", *hints]
    assert (cli.state(), len(cli.calls())) == (before, 1)
    loud = f"warning: NOT resumed: {missing}; starting a new session in run {begun.handle}"
    assert cli.ok("start", "--resume", "x").lines == [loud]


def test_a_fresh_session_is_the_runs_from_then_on(cli: Cli) -> None:
    begun = cli.begin("claude")
    shutil.rmtree(cli.home / ".claude")
    cli.forget_copies()
    cli.ok("resume", "--fallback", "fresh", "anew")
    now, attempt = cli.record(), cli.attempt(2)
    assert (now.handle, now.parent_session, attempt.parent_session) == (begun.handle, *[begun.session.value] * 2)
    assert now.session == attempt.session != begun.session
    cli.ok("resume", "go on")
    assert (cli.calls()[-1]["argv"][-1], cli.attempt(3).resumed) == (now.session.value, "yes")


@pytest.mark.parametrize("engine", ["codex", "claude"])
def test_a_fresh_session_that_never_began_costs_nothing(cli: Cli, engine: str) -> None:
    begun = cli.begin(engine)
    shutil.rmtree(cli.home / f".{engine}")
    cli.forget_copies()
    done = cli.run("resume", "--fallback", "fresh", "anew", FAKE_ID="none", FAKE_EXIT="3")
    assert (done.status, cli.attempt(2).kind, cli.record().session) == (3, "fresh", begun.session)


def test_words_of_a_conversation_that_began_anew(cli: Cli) -> None:
    begun = cli.begin()
    done = cli.run("resume", "--strict", "x", FAKE_UNKNOWN="new")
    attempt = cli.attempt(2)
    assert (cli.record().session, attempt.session, attempt.resumed) == (begun.session, begun.session, "as_new")
    new, old = attempt.reported_session, begun.session.value
    assert done.lines == [
        f"warning: NOT resumed: codex began a new conversation, {new}, instead of {old}",
        f"hint: the run keeps its recorded session: git agent show {begun.handle}",
        "fatal: Session resumption failed: codex began a new conversation instead",
    ]


def test_words_of_an_engine_that_has_lost_the_session(cli: Cli) -> None:
    begun = cli.begin()
    done = cli.run("resume", "--strict", "x", FAKE_UNKNOWN="fail")
    assert (done.status, cli.record().session) == (1, begun.session)
    assert done.lines[-1] == "fatal: Session resumption failed: codex reports that the session does not exist"


@pytest.mark.parametrize(
    ("change", "first"),
    [
        pytest.param(no_binary, "'/nowhere/codex' is not a program that can be run", id="missing"),
        pytest.param(broken_binary, "{home}/broken --version failed with 127", id="broken"),
    ],
)
def test_words_of_an_engine_that_is_not_there(cli: Cli, change: Callable[[Cli], object], first: str) -> None:
    begun = cli.begin("codex", "--", "--model", "m")
    change(cli)
    lines = cli.run("resume", "x").lines
    by_hand = f"cd {cli.repo.path} && codex resume --no-daemon --model m {begun.session.value}"
    assert lines[0] == f"fatal: {first.format(home=cli.home)}"
    assert lines[-1] == f"hint: or open the session yourself: {by_hand}"
    assert ("hint: node: not found" in lines) == (change is broken_binary)


def test_words_of_a_new_run(cli: Cli) -> None:
    done = cli.ok("start", "--resume", "-e", "codex", "x")
    assert done.lines[0] == "warning: no run found for branch 'main'; starting a new run"


def test_fallback_by_configuration(cli: Cli) -> None:
    cli.begin()
    lose_store(cli)
    cli.repo.git("config", "agent.fallback", "fresh")
    assert cli.run("resume", "--strict", "x").status == 128
    assert cli.run("resume", "--fallback", "fail", "x").status == 128
    cli.ok("resume", "x")
    assert cli.attempt(2).kind == "fresh"


@pytest.mark.parametrize("words", [["start", "--resume", "x"], ["resume", "--all", "x"]], ids=["start", "all"])
@pytest.mark.parametrize("gone", ["store", "engine"])
def test_fail_by_configuration_holds_unattended_too(cli: Cli, words: list[str], gone: str) -> None:
    """Faults F2: what the person has set counts; where a branch has no run, nothing is replaced."""
    cli.repo.git("config", "agent.fallback", "fail")
    cli.ok("start", "--resume", "-e", "codex", "begin", FAKE_EXIT="0")
    begun = cli.record()
    cli.run("resume", "x", FAKE_CMD="kill -9 $PPID") if words[0] == "resume" else None
    if gone == "store":
        lose_store(cli)
    done = cli.run(*words, FAKE_UNKNOWN="fail" if gone == "engine" else "")
    assert done.status != 0
    assert "NOT resumed" not in done.err + done.out
    assert cli.record().session == begun.session
    assert not any(attempt.kind == "fresh" for attempt in map(cli.attempt, range(1, cli.record().attempts + 1)))


@pytest.mark.parametrize("session", ["abc", ""])
def test_a_mistyped_session_is_no_reason_to_begin_anew(cli: Cli, session: str) -> None:
    cli.begin()
    done = cli.run("resume", "--session", session, "--fallback", "fresh", "x")
    assert (done.status, done.lines[0]) == (128, f"fatal: '{session}' is not a session id of codex")


def test_the_picker_needs_a_terminal(cli: Cli) -> None:
    cli.begin(FAKE_ID="none")
    done = cli.run("resume", "--fallback", "picker", "x")
    assert (done.status, done.lines[1]) == (128, "hint: the picker needs a terminal")


def test_known_to_fork(cli: Cli) -> None:
    begun = cli.begin("claude", "--", "--fork-session")
    cli.ok("resume", "x", FAKE_UNKNOWN="new")
    now, attempt = cli.record(), cli.attempt(2)
    assert (attempt.resumed, now.parent_session) == ("forked", begun.session.value)
    assert now.session.value == attempt.reported_session != begun.session.value


def test_a_session_that_no_output_named_is_found_in_the_store(cli: Cli) -> None:
    """opencode ended before it printed anything, but had begun."""
    done = cli.run("start", "-e", "opencode", "x", FAKE_OUT="/dev/null")
    assert (done.status, cli.record().session.value, cli.attempt().session_from) == (
        1,
        "ses_de0d732d2ffeZz8jXsLhQ5769v",
        "store",
    )


def test_no_output(cli: Cli) -> None:
    begun = cli.begin("opencode")
    done = cli.run("resume", "x", FAKE_ID="none")
    attempt = cli.attempt(2)
    assert (done.status, attempt.status, attempt.resumed, cli.record().session) == (
        1,
        "no_output",
        "unverified",
        begun.session,
    )


def test_without_a_session_id(cli: Cli) -> None:
    done = cli.run("start", "-e", "codex", "x", FAKE_ID="none")
    record = cli.record()
    assert (done.status, record.session) == (1, (None, None))
    assert done.lines[-1] == "warning: codex: no_output"
    assert done.err.splitlines()[-4] == f"handle    {record.handle}   codex · no session id"
    assert done.err.splitlines()[-1] == "resume    no: codex has no session for it"
    assert cli.run("resume", "x").lines == [
        f"fatal: run {record.handle} has no session id: codex printed none, and its store shows none",
        f'hint: if you know it: git agent resume {record.handle} --session VALUE "<message>"',
        f'hint: or start a new one in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
    ]
