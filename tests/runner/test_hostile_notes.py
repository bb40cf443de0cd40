"""Notes from anyone who can push: nothing runs that the person did not allow, and nothing of them is printed raw."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from git_agent_runner.adopt.trust import launch_args
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import Engine, Option
from git_agent_runner.store.notes import noteline, writing
from support.cli import Cli, ask
from support.engines import stores
from support.gitrepo import GitRepo
from support.hostile import BATCHES, CODEX, ESCAPES, HANDLE, OTHERS, RAW, SHELL, UNREAD, Runs, Wide, note
from support.runs import leave

OURS = "aaaaaaaa"
# What looks, and what would begin something: each is tried on every note, in this order.
LOOKS = ("list", f"show {HANDLE} --json", "status", f"log {HANDLE}", "doctor", "push theirs -n")
BEGINS = ("resume x", f"resume {HANDLE} -n --json x", f"adopt {HANDLE}")


class State(NamedTuple):
    """What is stored: files of ours but locks and caches, branches, all refs, and configuration."""

    files: dict[str, bytes]
    heads: list[str]
    refs: list[str]
    settings: set[str]


class World(NamedTuple):
    """A person with a run of their own, and a clone from which somebody pushes. `tell` runs a command: status, text."""

    cli: Cli
    there: GitRepo
    tell: Callable[..., tuple[int, str]]

    def state(self) -> State:
        root = Path(self.cli.layout.root)
        files = {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        kept = {path: data for path, data in files.items() if "/locks/" not in path and "/cache/" not in path}
        refs = self.cli.repo.git("for-each-ref").split("\n")
        heads = [ref for ref in refs if "refs/heads/" in ref]
        return State(kept, heads, refs, set(self.cli.repo.git("config", "--local", "--list").split("\n")))


@pytest.fixture
def world(here: Cli, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> World:
    def tell(words: str, status: tuple[int, ...] = (0, 1, 128, 129)) -> tuple[int, str]:
        done = ask(*words.split(" "))
        told = "".join(capfd.readouterr())
        assert done in status, (words, told)
        assert not RAW.search(told), (words, told)
        return done, told

    here.repo.git("branch", "mine")
    own = leave(here.repo, OURS, "record pointer", branch="mine")
    writing.write(here.repo.facts(), here.repo.git("rev-parse", "HEAD~1"), own)
    stores.save("codex", CODEX, "hello")
    there = here.repo.clone(tmp_path / "there")
    here.repo.git("remote", "add", "theirs", str(there.path))
    return World(here, there, tell)


def receive(world: World, text: str, commit: str = "HEAD") -> None:
    """They note it, we fetch it. A lone surrogate stands for a byte that is no UTF-8."""
    path = world.there.path / "note"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    blob = world.there.git("hash-object", "-w", str(path))
    world.there.git("notes", "--ref=agent", "add", "-f", "-C", blob, commit)
    world.tell("fetch theirs", (0,))


@pytest.mark.long_matrix(2)
@pytest.mark.parametrize("batch", BATCHES)
def test_notes_that_are_never_followed(world: World, batch: list[tuple[str, str, str]]) -> None:
    ours = world.cli.repo.git("rev-parse", "refs/notes/agent")
    for name, text, said in batch:
        receive(world, text)
        looked_at_and_refused(world, said, f"resume {HANDLE} --trust x")
        assert not any(Path.cwd().parent.rglob("pwned")), name
        world.cli.repo.git("update-ref", "refs/notes/agent", ours)
        world.there.git("update-ref", "-d", "refs/notes/agent")


@pytest.mark.long_matrix(3)
@pytest.mark.parametrize(("text", "comes"), OTHERS)
def test_notes_that_a_person_may_follow(world: World, text: str, comes: Wide | Runs) -> None:
    receive(world, text)
    before = world.state()
    if isinstance(comes, Wide):
        looked_at_and_refused(world, comes.said, f"resume {HANDLE} x")
    else:
        for words in LOOKS:
            world.tell(words)
    if comes.passed:
        follows(world, comes.passed, " --trust" if isinstance(comes, Wide) else "")
    assert not any(Path.cwd().parent.rglob("pwned"))
    now = world.state()
    assert before.files.items() <= now.files.items()
    assert before.heads == now.heads
    assert before.settings <= now.settings


def looked_at_and_refused(world: World, said: str, resume: str) -> None:
    before = world.state()
    for words in LOOKS:
        world.tell(words)
    for words in (*BEGINS, resume):
        _, told = world.tell(words, (128,))
        assert said in told or (said == UNREAD and "no run found" in told), (words, told)
    assert (world.cli.calls(), world.state()) == ([], before)


def follows(world: World, passed: tuple[str, ...], trust: str) -> None:
    """The engine gets these flags, the session, our message, and nothing else."""
    world.tell(f"resume {HANDLE} -n{trust} x", (0,))
    assert world.cli.calls() == []
    world.tell(f"resume {HANDLE}{trust} x", (0,))
    for words in (f"show {HANDLE}", f"log {HANDLE}"):
        world.tell(words, (0,))
    (call,) = world.cli.calls()
    given = [word for word in call["argv"] if word not in ("exec", "resume", "--json", "--skip-git-repo-check")]
    assert (given, call["stdin"]) == ([*passed, CODEX, "-"], "x")
    assert (call["engine"], call["cwd"]) == ("codex", str(world.cli.repo.path))
    record = world.cli.record(HANDLE)
    assert (record.branch, record.cwd, record.launch_args) == ("main", str(world.cli.repo.path), passed)
    assert world.cli.pointers() == {"main": HANDLE, "mine": OURS}


@pytest.mark.parametrize("value", [SHELL, ESCAPES, "-x", "a'b", ""])
def test_the_printed_command_is_the_one_that_runs(world: World, value: str) -> None:
    """What `-n` prints is pasted into a shell: it says the same there, and nothing besides."""
    receive(world, note(launch={"args": ["--model", value]}))
    _, line = world.tell(f"resume {HANDLE} -n x", (0,))
    subprocess.run(("sh", "-c", line), check=True, capture_output=True)
    world.tell(f"resume {HANDLE} x", (0,))
    pasted, run = world.cli.calls()
    assert pasted["argv"] == run["argv"]
    assert f"--model={value}" in run["argv"] or value in run["argv"]
    assert (pasted["stdin"], pasted["cwd"]) == (run["stdin"], run["cwd"])
    assert not any(Path.cwd().parent.rglob("pwned"))


def test_a_note_of_a_run_that_is_here(world: World) -> None:
    """The record knows better, however new the note claims to be."""
    text = note(handle=OURS, runId=f"20261127T101502Z-codex-{OURS}", updatedAt="9999-12-31T23:59:59Z")
    receive(world, text)
    before = world.state()
    for words in (*LOOKS, "resume x", f"resume {OURS} -n x"):
        _, told = world.tell(words)
        assert CODEX not in told, words
    assert (world.cli.calls(), world.state()) == ([], before)
    record = world.cli.record(OURS)
    assert record.branch == "mine"
    for words in (f"adopt {OURS}", f"adopt {OURS} --trust"):  # ties the run that is here to this branch
        _, told = world.tell(words)
        assert CODEX not in told, words
    assert (
        world.cli.record(OURS)[:-1] == record._replace(branch="main", updated_at=world.cli.record(OURS).updated_at)[:-1]
    )


def test_a_note_of_another_branch_moves_no_pointer_unseen(world: World) -> None:
    receive(world, note(branch="mine"))
    before = world.state()
    _, told = world.tell("resume x", (128,))
    assert "no run found for branch 'main'" in told
    assert (world.cli.calls(), world.state()) == ([], before)
    _, told = world.tell(f"adopt {HANDLE}", (0,))
    assert f"branch 'mine' used run {OURS} until now; to continue that one: git agent resume {OURS}" in told


def test_a_note_on_every_commit(world: World) -> None:
    """The nearest one counts, and no other is looked at."""
    world.there.git("fast-import", "--quiet", "--force", stdin="".join(_history(300)))
    world.there.git("update-ref", "refs/notes/agent", "refs/heads/notes")
    world.tell("fetch theirs", (0,))
    world.cli.repo.git("pull", "-q", "theirs", "main")
    before = world.state()
    for words in (*LOOKS, "resume --all x", "watch", "prune --merged"):
        world.tell(words)
    _, told = world.tell("resume x", (128,))
    assert "the note of run 0000012b cannot be used: it asks for --yolo" in told
    assert (world.cli.calls(), world.state()) == ([], before)


def _history(count: int) -> Iterator[str]:
    who = "committer A <a@example.invalid> 1700000000 +0000\ndata 1\nx\n"
    for n in range(count):
        begun = "from refs/heads/main^0\n" if n == 0 else ""
        yield f"commit refs/heads/main\nmark :{n + 1}\n{who}{begun}"
    yield f"commit refs/heads/notes\n{who}"
    for n in range(count):
        run_id = f"20261127T101502Z-codex-{n:08x}"
        text = note(handle=f"{n:08x}", runId=run_id, launch={"args": ["--yolo"]}, updatedAt="9999-12-31T23:59:59Z")
        yield f"N inline :{n + 1}\ndata {len(text)}\n{text}\n"


def test_a_tree_of_notes_that_git_would_not_make(world: World) -> None:
    there = world.there
    blob, head = there.git("hash-object", "-w", "--stdin", stdin=note(branch="main")), there.head()
    strange = ("x\x1b[2J\n\u202e", "--force", "A" * 40)
    rows = [f"120000 blob {blob}\t{head}", f"160000 commit {head}\t{'a' * 40}", f"100755 blob {blob}\t{'b' * 40}"]
    rows += [f"100644 blob {blob}\t{name}" for name in strange]
    tree = there.git("mktree", "-z", stdin="".join(f"{row}\0" for row in rows))
    above = there.git("mktree", "-z", stdin=f"040000 tree {tree}\taa\0" + "".join(f"{row}\0" for row in rows))
    there.git("update-ref", "refs/notes/agent", there.git("commit-tree", above, "-m", "notes"))
    world.tell("fetch theirs", (0, 128))
    for words in (*LOOKS, f"resume {HANDLE} -n x"):
        world.tell(words)
    assert world.cli.calls() == []


ENGINES = ("codex", "claude", "gemini", "opencode", "qwen", "copilot", "iflow")


@pytest.mark.parametrize("name", ENGINES)
def test_no_flag_that_widens_comes_from_a_note(name: str) -> None:
    """However it is spelled: its value behind it or in the same word, cut short, in capitals."""
    engine = load(name, {})
    wide = [option for option in engine.options if option.widens]
    assert len(wide) >= 4
    for option in wide:
        for words in _spellings(option):
            given = _given(engine, words)
            # An attachment belongs to a message that was sent long ago.
            assert given == "note_refused" or (option.role, given) == ("attachment", ()), words
            assert launch_args(_note(engine, ()), engine).args == ()


def _given(engine: Engine, words: tuple[str, ...]) -> tuple[str, ...] | str:
    """The flags that come from a note with these, or the code of the refusal."""
    try:
        asked = launch_args(_note(engine, words), engine)
    except UserError as error:
        return error.code
    return "note_refused" if asked.wide else asked.args


def _spellings(option: Option) -> Iterator[tuple[str, ...]]:
    for flag in option.names:
        yield (f"{flag}=x",)
        yield (f"{flag}x",)
        yield (flag[:-1],) if flag.startswith("--") else (f"-{flag}",)
        yield (flag.upper(),)
        yield (flag,) if option.value in ("none", "optional") else (flag, "x")


def _note(engine: Engine, words: tuple[str, ...]) -> Note:
    text = note(agentName=engine.name, runId=f"20261127T101502Z-{engine.name}-{HANDLE}", launch={"args": list(words)})
    found, _ = noteline.parse(text)
    return found[0]
