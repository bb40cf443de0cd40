"""State that an agent, or whoever can write into the repository, has made hostile: shown, never followed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from git_agent_runner.store.records import attempts
from git_agent_runner.store.session_locks import session_lock
from support.cli import Cli, ask
from support.engines import stand_in, stores
from support.hostile import CODEX, ESCAPES, RAW
from support.runs import leave
from support.stored import attempt

Tell = Callable[..., str]
HANDLE = "0012e345"
LOOKS = ("list", "list --json", "show", "show --json", "status", "log", "log --json", "doctor", "resume -n x")


@pytest.fixture
def tell(here: Cli, capfd: pytest.CaptureFixture[str]) -> Tell:
    """Run a command in our own process; what it prints, which never holds a raw control character."""

    def told(words: str, *status: int) -> str:
        done = ask(*words.split(" "))
        text = "".join(capfd.readouterr())
        assert done in (status or (0, 1, 128)), (words, text)
        assert not RAW.search(text), (words, text)
        return text

    return told


def escaped(value: Any, kept: tuple[str, ...]) -> Any:
    """The value with escapes in every text, and in every key, but for the texts that are kept."""
    if isinstance(value, dict):
        return {name: escaped(part, kept) for name, part in value.items()} | {ESCAPES: ESCAPES}
    if isinstance(value, list):
        return [escaped(part, kept) for part in value]
    return value + ESCAPES if isinstance(value, str) and value not in kept else value


@pytest.mark.parametrize("engine", ["codex", "claude", "gemini", "opencode", "qwen", "copilot"])
def test_a_transcript_full_of_escapes(here: Cli, tell: Tell, tmp_path: Path, engine: str) -> None:
    events = stand_in.EVENTS[engine](stand_in.IDS[engine])
    types = {str(event[key]) for event in events for key in ("type", "subtype") if key in event}
    kept = (*types, "text", "agent_message", "message", "assistant", stand_in.IDS[engine])
    odd: list[Any] = [escaped(event, kept) for event in events]
    odd.insert(1, {"type": f"new{ESCAPES}", "text": ESCAPES})
    odd.insert(2, {"type": "error", "message": ESCAPES, "error": {"message": ESCAPES, "data": {"message": ESCAPES}}})
    path = tmp_path / "out"
    path.write_text("".join(json.dumps(event) + "\n" for event in odd) + ESCAPES)
    here.begin(engine, FAKE_OUT=str(path))
    for words in LOOKS:
        tell(words)
    assert "^[[2J" in tell("log")


def test_an_attempt_full_of_escapes(here: Cli, tell: Tell) -> None:
    own = leave(here.repo, HANDLE)
    bad = attempt(
        run_id=own.run_id, message=f"m{ESCAPES}", error=ESCAPES, argv=("codex", ESCAPES), session_from=ESCAPES
    )
    bad = bad._replace(started_at=ESCAPES, created_at=ESCAPES, ended_at=ESCAPES, host=ESCAPES, engine_version=ESCAPES)
    bad = bad._replace(survivors=(ESCAPES,), candidates=(ESCAPES,), reported_session=ESCAPES, parent_session=ESCAPES)
    attempts.new_run(here.layout, own.run_id)
    attempts.begin(here.layout, bad)
    for words in LOOKS:
        tell(words)
    tell("doctor --repair")
    assert "attempt 1  start, ^[]0;pwned^G^[[2J" in tell("log", 0)
    Path(here.layout.index_file(HANDLE)).unlink()
    tell("doctor --repair")
    for words in LOOKS:
        tell(words)


@pytest.mark.parametrize(
    ("place", "refused"),
    [
        pytest.param("", True, id="the run"),
        pytest.param("attempts", True, id="its attempts"),
        pytest.param("attempts/0001", False, id="an attempt"),
        pytest.param("attempts/0001/attempt.yaml", False, id="what an attempt was"),
        pytest.param("attempts/0001/stdout", False, id="what it printed"),
        pytest.param("attempts/0002", False, id="the next attempt"),
        pytest.param("session", False, id="the session's copy"),
    ],
)
def test_a_link_in_the_run_directory(here: Cli, tell: Tell, tmp_path: Path, place: str, refused: bool) -> None:
    """An agent can put it there. It may be read, since the person can; nothing is written or removed behind it."""
    begun = here.begin()
    outside = tmp_path / "outside"
    (outside / "0001").mkdir(parents=True)
    (outside / "secret").write_text("SECRET")
    (outside / ".stdout.4194303.0123abcd.tmp").write_text("looks like a scrap of ours")
    path = Path(here.layout.run(begun.run_id), place)
    if path.exists():
        path.rename(tmp_path / "moved")
    path.symlink_to(outside / "secret" if path.suffix == ".yaml" or path.name == "stdout" else outside)
    before = beneath(outside)
    for words in ("show", "log", "list", "doctor --repair", "status"):
        tell(words)
    text = tell("resume x", 128 if refused else 0)
    assert ("is a symbolic link; nothing is written there" in text) == refused
    tell(f"prune {begun.handle}", 0)
    assert beneath(outside) == before


@pytest.mark.parametrize("name", ["stdout", "pty-output", "attempt.yaml"])
@pytest.mark.parametrize("what", ["a pipe", "a directory", "a device", "a loop"])
def test_no_file_in_the_place_of_one(here: Cli, tell: Tell, name: str, what: str) -> None:
    begun = here.begin(FAKE_CMD="kill -9 $PPID")
    path = Path(here.layout.attempt(begun.run_id, 1), name)
    path.unlink(missing_ok=True)
    if what.startswith("a d") or what == "a loop":
        path.mkdir() if what == "a directory" else path.symlink_to("/dev/zero" if what == "a device" else name)
    else:
        os.mkfifo(path)
    here.repo.git("config", "agent.onDead", "resume")
    for words in (*LOOKS, "doctor --repair", "watch --once", "resume x"):
        tell(words)
    assert here.record(begun.handle).session == begun.session


@pytest.mark.parametrize("place", ["run", "session", "waiting", "record"])
def test_a_link_or_a_pipe_in_the_place_of_a_lock(here: Cli, tell: Tell, tmp_path: Path, place: str) -> None:
    begun = here.begin()
    locks = {
        "run": here.layout.run_lock(HANDLE),
        "session": session_lock(here.layout, here.environ(), ("codex", f"{here.environ()['HOME']}/.codex"), CODEX),
        "waiting": here.layout.waiting_lock(HANDLE),
        "record": here.layout.record_lock(HANDLE),
    }
    path = Path(locks[place].replace(HANDLE, begun.handle))
    (tmp_path / "secret").write_text("SECRET")
    for put in (partial(path.symlink_to, tmp_path / "secret"), partial(os.mkfifo, path)):
        path.unlink(missing_ok=True)
        put()
        for words in (*LOOKS, "resume --all", "doctor --repair", "prune --older-than 1h"):
            tell(words)
        assert ("it is not an ordinary file" in tell("resume x")) == (place != "waiting")
    assert (tmp_path / "secret").read_text() == "SECRET"


@pytest.mark.parametrize("moment", ["soon", "", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999-23:59"])
def test_a_time_that_is_none(here: Cli, tell: Tell, moment: str) -> None:
    begun = here.begin(FAKE_CMD="kill -9 $PPID")
    here.repo.git("config", "agent.onDead", "resume")
    attempt_file = f"{here.layout.attempt(begun.run_id, 1)}/attempt.yaml"
    for path in (Path(here.layout.index_file(begun.handle)), Path(attempt_file)):
        text = path.read_text()
        path.write_text(re.sub(r"^(\w+(?:At|Started)): \"[^\"]*\"$", rf'\1: "{moment}"', text, flags=re.MULTILINE))
    for words in (*LOOKS, "resume --all -n", "prune --older-than 1h -n", "doctor --repair", "watch --once"):
        tell(words)
    assert here.record(begun.handle).session == begun.session


def beneath(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


BRANCHES = [
    pytest.param("x;touch${IFS}pwned", id="a command"),
    pytest.param("$(touch\u00a0pwned)`touch`|&<>", id="a shell's signs"),
    pytest.param("'\"'%s{u}#=!", id="quotes"),
    pytest.param("-x", id="a flag"),
    pytest.param("--output=pwned", id="a long flag"),
    pytest.param("refs/heads/main", id="a ref"),
    pytest.param("HEAD", id="HEAD"),
    pytest.param("\u009b31m\u0085\u202e\u2066\u2028\u2029\ufeff", id="escapes"),
    pytest.param("\udcff\udcfe", id="no UTF-8"),
    pytest.param("0012e345", id="a handle"),
    pytest.param("/".join(["long"] * 40), id="a long name"),
]


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_with_a_name_that_git_allows(here: Cli, tell: Tell, branch: str) -> None:
    here.repo.git("update-ref", f"refs/heads/{branch}", "HEAD")
    here.repo.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    stores.save("codex", CODEX, "hello")
    text = tell(f"adopt codex {CODEX}", 0)
    record = here.record()
    assert (record.branch, here.pointers()) == (branch, {branch: record.handle}), text
    for words in ("list", "show --json", "status", "log", "resume -n x"):
        tell(words)
    tell("resume x", 0)
    assert tell("doctor", 0) == "nothing is wrong\n"
    (call,) = here.calls()
    assert (call["argv"][-2:], here.record().branch) == ([CODEX, "-"], branch)
    assert not any(Path.cwd().parent.rglob("pwned"))


@pytest.mark.parametrize(
    "words", ["start -e codex x", "resume x", *LOOKS[:5], "adopt codex", "watch", "prune --merged"]
)
def test_a_repository_of_somebody_else(here: Cli, tell: Tell, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Git reads no configuration of it, so nor do we; git's own variable makes it somebody else's."""
    here.repo.git("config", "agent.codex.binary", "./pwn")
    before = here.state()
    with monkeypatch.context() as patch:
        patch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        assert f"fatal: detected dubious ownership in repository at '{here.repo.path}'" in tell(words, 128)
    assert (here.calls(), here.state()) == ([], before)


DEEP = "[" * 50_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'on_dead = {{ action = "{chr(92)}u001b[2J{chr(92)}u202e" }}', id="escapes"),
        pytest.param(f'"x{chr(92)}u009b31m" = 1', id="escapes in a key"),
        pytest.param("\x1b[2J", id="a raw escape"),
        pytest.param("\udcff", id="no UTF-8"),
        pytest.param(f"on_dead = {DEEP}", id="lists in lists"),
        pytest.param(
            'on_error = [ { match = "x", action = "gate", command = "touch pwned" } ]', id="a command as text"
        ),
        pytest.param('on_dead = { action = "resume", attempts = 1e999 }', id="endless attempts"),
        pytest.param('on_dead = { action = "resume", attempts = nan }', id="no number of attempts"),
        pytest.param(f"x = {'9' * 5000}", id="a huge number"),
        pytest.param('on_idle = { action = "nudge", after = "1e999s", message = "x" }', id="an endless wait"),
        pytest.param('on_dead = { action = "resume", cooldown = "99999999999999h" }', id="an endless pause"),
        pytest.param("x = 1\n" * 200_000, id="a key very often"),
    ],
)
def test_hostile_policies(here: Cli, tell: Tell, text: str) -> None:
    here.begin(FAKE_EXIT="1")
    path = Path(here.layout.root, "policies.toml")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    for words in ("watch", "doctor", "status", "list"):
        tell(words)
    assert len(here.calls()) == 1
    assert not any(Path.cwd().parent.rglob("pwned"))
