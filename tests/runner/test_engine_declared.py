"""An engine made of data compiles as the contract asks, and finds its sessions where its profile says."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines import contract
from git_agent_runner.engines.added import profile_form
from git_agent_runner.engines.arguments import overlay
from git_agent_runner.engines.spec import Engine, Launch, StoreQuery
from support.added import FORMS, HEAD, PROFILE, READING, SESSION, WREN, engine
from support.docs import ROOT

PI = (ROOT / "docs/examples/pi.yaml").read_text()
STDIN = FORMS
CUT = """\
start: {argv: [run, '{flags}', --, '{prompt}']}
resume: {argv: [run, '--resume={session}', '{flags}', --, '{prompt}']}
terminal: {start: ['{flags}', --, '{prompt}'], resume: [--resume, '{session}', '{flags}', --, '{prompt}']}
"""
JOINED = """\
start: {argv: [run, '{flags}', '--prompt={prompt}']}
resume: {argv: [run, '{flags}', -r, '{session}', '--prompt={prompt}']}
continue: {argv: [run, '{flags}', --continue], stdin: true}
terminal: {start: ['{flags}'], resume: ['{flags}', -r, '{session}']}
"""
MINTED = """\
start: {argv: [run, '{flags}', --session-id, '{session}'], stdin: true}
resume: {argv: [run, '{flags}', --resume, '{session}'], stdin: true}
elsewhere: same repository
"""


def launch(*args: str, message: str | None = "go on", terminal: bool = False) -> Launch:
    return Launch("/bin/mine", (1, 10), args, message, SESSION, "/w", "/w", terminal)


def described(forms: str) -> Engine:
    return engine(HEAD + forms + READING)


DIRECTED = """\
start: {argv: [run, '--dir={cwd}', '{flags}'], stdin: true}
resume: {argv: [run, -C, '{cwd}', '{flags}', --session, '{session}'], stdin: true}
forks: true
"""
TERMINAL = """\
start: {argv: [run, '{flags}'], stdin: true}
terminal: {start: ['{flags}'], resume: ['{flags}', -r, '{session}']}
"""


@pytest.mark.parametrize(
    "text",
    [PI, WREN.read_text(), *(HEAD + forms + READING for forms in (STDIN, CUT, JOINED, MINTED, DIRECTED, TERMINAL))],
)
def test_the_contract_is_kept(text: str) -> None:
    example = profile_form.read(text, "mine").example
    assert contract.broken(engine(text), example) == []


@pytest.mark.parametrize(
    ("forms", "start", "resume", "stdin"),
    [
        pytest.param(STDIN, "run --model m", f"run --model m --session {SESSION}", b"go on", id="by stdin"),
        pytest.param(CUT, "run --model m -- @", f"run --resume={SESSION} --model m -- @", None, id="after a cut"),
        pytest.param(JOINED, "run --model m --prompt=@", f"run --model m -r {SESSION} --prompt=@", None, id="joined"),
    ],
)
def test_headless_forms(forms: str, start: str, resume: str, stdin: bytes | None) -> None:
    def made(words: str) -> Invocation:
        return Invocation(("/bin/mine", *(word.replace("@", "go on") for word in words.split())), stdin, "/w")

    own, given = described(forms), launch("--model", "m", "--session", "old")
    assert own.start(given._replace(session=None)) == made(start)
    assert own.resume(given) == made(resume)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        pytest.param("go on", ("--resume", SESSION, "-m", "x", "--", "go on"), id="with a message"),
        pytest.param(None, ("--resume", SESSION, "-m", "x"), id="without one"),
    ],
)
def test_the_terminal_form(message: str | None, words: tuple[str, ...]) -> None:
    made = described(CUT).resume(launch("-mx", message=message, terminal=True))
    assert made == Invocation(("/bin/mine", *words), None, "/w")


@pytest.mark.parametrize(
    ("forms", "code"), [(STDIN, "interactive_unsupported"), (JOINED, "message_refused")], ids=["none", "no message"]
)
def test_a_terminal_form_that_is_not_described_is_refused(forms: str, code: str) -> None:
    for form in (described(forms).start, described(forms).resume):
        with pytest.raises(UserError) as error:
            form(launch(terminal=True))
        assert error.value.code == code


def test_the_directory_is_named_where_the_engine_is_told_it() -> None:
    """faults E: it is the one that the engine is started in, which is the session's where that is bound to it."""
    given = launch()._replace(session_cwd="/there")
    made = described(DIRECTED).resume(given)
    assert (made.argv[1:4], made.cwd) == (("run", "-C", "/there"), "/there")
    made = described(f"{DIRECTED}elsewhere: anywhere\n").resume(given)
    assert (made.argv[1:4], made.cwd) == (("run", "-C", "/w"), "/w")
    assert described(DIRECTED).start(given._replace(session=None)).argv[1:3] == ("run", "--dir=/there")


def test_a_resume_that_forks_is_said_to() -> None:
    """faults E"""
    assert [described(forms).forks((1, 10), ()) for forms in (DIRECTED, STDIN)] == [True, False]


def test_a_session_that_is_resumed_in_a_terminal_only() -> None:
    """faults E"""
    own = described(TERMINAL)
    with pytest.raises(UserError) as error:
        own.resume(launch())
    assert (error.value.code, error.value.hints) == ("resume_unsupported", ("on a terminal: -i, and no message",))
    assert own.resume(launch(message=None, terminal=True)).argv == ("/bin/mine", "-r", SESSION)
    assert (own.headless, described(STDIN).headless) == (False, True)


def test_an_id_is_made_up_where_the_start_names_one() -> None:
    own = described(MINTED)
    session = own.mint((1, 10))
    assert session
    assert own.id_pattern.fullmatch(session)
    assert own.start(launch()._replace(session=session)).argv[-1] == session
    assert described(STDIN).mint((1, 10)) is None


def test_continuing_is_as_described() -> None:
    form = described(JOINED).continue_
    assert form
    assert form(launch()) == Invocation(("/bin/mine", "run", "--continue"), b"go on", "/w")
    assert described(STDIN).continue_ is None


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [("nowhere else", False, False), ("same repository", True, False), ("anywhere", True, True)],
)
def test_elsewhere(text: str, same: bool, other: bool) -> None:
    own = engine(f"{PROFILE}elsewhere: {text}\n")
    assert (own.elsewhere((1, 10), True), own.elsewhere((1, 10), False)) == (same, other)


@pytest.mark.parametrize(("text", "cwd"), [("nowhere else", "/there"), ("same repository", "/w"), ("anywhere", "/w")])
def test_a_session_that_is_bound_goes_on_in_its_directory(text: str, cwd: str) -> None:
    given = launch()._replace(session_cwd="/there")
    assert engine(f"{PROFILE}elsewhere: {text}\n").resume(given).cwd == cwd


def test_options_take_the_profiles_source_and_versions_as_written() -> None:
    row = "  - {names: --new, since: 1.10, until: 1.20.1}\n  - {names: --own, source: an issue}\n"
    own = engine(PROFILE.replace("events:", f"{row}events:"))
    new, mine = own.options[-2:]
    assert (new.since, new.until, new.source) == ((1, 10), (1, 20, 1), "a test")
    assert mine.source == "an issue"
    assert own.first_resume == (1, 0)


def test_what_a_flag_ends_is_as_written() -> None:
    rows = "  - {names: --new, repeats: true}\n  - {names: --own, excludes: [--new]}\n"
    own = engine(PROFILE.replace("events:", f"{rows}events:"))
    assert overlay(own.options, ("--new", "--own"), ("--new",)) == ("--new", "--own", "--new")
    assert overlay(own.options, ("--new",), ("--own",)) == ("--own",)


def kept(folder: Path, session: str, cwd: str, created: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    path.write_text(json.dumps({"session": session, "cwd": cwd, "at": created}) + '\n{"x": 1}\n')
    return path


def query(home: Path, session: str | None = None, **env: str) -> StoreQuery:
    return StoreQuery({"HOME": str(home), **env}, str(home), (1, 10), session, 1_700_000_000.0)


def test_a_session_is_present_or_absent(tmp_path: Path) -> None:
    path = kept(tmp_path / ".mine", SESSION, "/there", "2026-01-01T00:00:00Z")
    found = engine().locate(query(tmp_path, SESSION))
    assert (found.state, found.path, found.cwd) == ("present", str(path), "/there")
    kept(tmp_path / ".mine", SESSION, "not/a/place", "2026-01-01T00:00:00Z")
    assert engine().locate(query(tmp_path, SESSION)).cwd is None
    gone = engine().locate(query(tmp_path, SESSION.replace("0199", "0200")))
    assert (gone.state, gone.detail) == ("absent", f"mine has no such session below {tmp_path / '.mine'}")


@pytest.mark.parametrize("session", ["*", "../x", f"{SESSION[:-1]}?", "[0-9]*"])
def test_a_session_is_no_glob_and_no_path(tmp_path: Path, session: str) -> None:
    kept(tmp_path / ".mine", SESSION, "/there", "2026-01-01T00:00:00Z")
    kept(tmp_path, "x", "/there", "2026-01-01T00:00:00Z")
    assert engine().locate(query(tmp_path, session)).state != "present"


def test_without_a_store_nothing_is_known(tmp_path: Path) -> None:
    own = engine(PROFILE[: PROFILE.index("store:")])
    assert own.locate(query(tmp_path, SESSION)).state == "unknown"
    assert own.created_since(query(tmp_path)) == ()


def test_a_variable_names_another_folder(tmp_path: Path) -> None:
    own = engine(PROFILE.replace("  folder: .mine", "  folder: .mine\n  variable: MINE_HOME"))
    kept(tmp_path / "other [x]", SESSION, "/there", "2026-01-01T00:00:00Z")
    assert own.locate(query(tmp_path, SESSION)).state == "absent"
    assert own.locate(query(tmp_path, SESSION, MINE_HOME=str(tmp_path / "other [x]"))).state == "present"


def test_sessions_made_here_since(tmp_path: Path) -> None:
    """Old ones, other directories', torn files and ids of another shape are none."""
    store, here = tmp_path / ".mine", str(tmp_path)
    ids = [re.sub("^0199", f"019{digit}", SESSION) for digit in "123456"]
    kept(store, ids[1], here, "2026-01-02T00:00:00.500Z")
    kept(store, ids[0], os.path.join(here, "."), "2026-01-03T00:00:00Z")
    kept(store, ids[2], here, "2020-01-01T00:00:00Z")
    kept(store, ids[3], "/elsewhere", "2026-01-02T00:00:00Z")
    kept(store, "--last", here, "2026-01-02T00:00:00Z")
    (store / f"{ids[4]}.jsonl").write_text('{"session": "')
    assert engine().created_since(query(tmp_path)) == (ids[1], ids[0])
