"""Every `hint:` that is a command, in every state that prints one, followed to the letter: it does what it says, and
the way that it leads on ends where the person wanted to go. faults A18
"""

from __future__ import annotations

import re
import shlex
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from support.cli import Cli, Done
from support.engines.stand_in import IDS
from support.gitrepo import dates, make
from support.waiting import until

WORK = "echo x >w; git add w; git commit -q -m agents"
COMMAND = r"(?:^|[:;] )`?(git (?:-C \S+ )?(?:agent|switch|worktree|branch|fetch) [^`;]+)"
STEPS = 4  # hints that may have to be followed, one after the other


class Refused(NamedTuple):
    """A person in a place, and the command that is refused there."""

    cli: Cli
    words: tuple[str, ...]

    def run(self) -> Done:
        return self.cli.run(*self.words, stdin=None)


State = Callable[[Cli, Path], Refused]


def at(cli: Cli, path: Path) -> Cli:
    return cli._replace(repo=cli.repo._replace(path=path))


def linked(cli: Cli, path: Path, *words: str) -> Cli:
    cli.repo.git("worktree", "add", "-q", *words, str(path))
    return at(cli, path)


def nothing(cli: Cli, _: Path) -> Refused:
    return Refused(cli, ("resume", "go on"))


def branch_elsewhere(cli: Cli, _: Path) -> Refused:
    cli.repo.switch_new("it's")
    cli.begin(FAKE_CMD=WORK)
    cli.repo.git("switch", "-q", "main")
    return Refused(cli, ("resume", "--branch", "it's", "go on"))


def branch_deleted(cli: Cli, path: Path) -> Refused:
    refused = branch_elsewhere(cli, path)
    cli.repo.git("branch", "-q", "-D", "it's")
    return refused


def tree_removed(cli: Cli, path: Path) -> Refused:
    tree = linked(cli, path / "a tree", "-b", "it's")
    tree.begin(FAKE_CMD=WORK)
    cli.repo.git("worktree", "remove", "--force", str(path / "a tree"))
    return Refused(cli, ("resume", "--branch", "it's", "go on"))


def tree_deleted_and_locked(cli: Cli, path: Path) -> Refused:
    linked(cli, path / "a", "--lock", "-b", "topic").begin()
    shutil.rmtree(path / "a")
    return Refused(cli, ("resume", "--branch", "topic", "go on"))


def tree_and_branch_gone(cli: Cli, path: Path) -> Refused:
    refused = tree_removed(cli, path)
    cli.repo.git("branch", "-q", "-D", "it's")
    return refused


def detached_beside_a_branch(cli: Cli, path: Path) -> Refused:
    cli.begin()
    return Refused(linked(cli, path / "a", "--detach"), ("resume", "go on"))


def detached_after_a_branch(cli: Cli, _: Path) -> Refused:
    cli.begin()
    cli.repo.git("checkout", "-q", "--detach")
    return Refused(cli, ("resume", "go on"))


def detached_beside_a_work_tree(cli: Cli, path: Path) -> Refused:
    linked(cli, path / "a", "--detach").begin()
    return Refused(linked(cli, path / "b", "--detach"), ("resume", "go on"))


def detached_at_another_commit(cli: Cli, _: Path) -> Refused:
    cli.repo.git("checkout", "-q", "--detach")
    cli.begin(FAKE_CMD=WORK)
    cli.repo.git("checkout", "-q", "HEAD~2")
    return Refused(cli, ("resume", "go on"))


def two_without_a_work_tree(cli: Cli, path: Path) -> Refused:
    for name in ("a", "b"):
        linked(cli, path / name, "--detach").begin(FAKE_ID="new")
        cli.repo.git("worktree", "remove", str(path / name))
    return Refused(linked(cli, path / "a", "--detach"), ("resume", "go on"))


def by_name_without_its_work_tree(cli: Cli, path: Path) -> Refused:
    handle = linked(cli, path / "a", "--detach").begin().handle
    cli.repo.git("worktree", "remove", str(path / "a"))
    linked(cli, path / "a", "--detach")
    return Refused(cli, ("resume", handle, "go on"))


def name_used_again(cli: Cli, path: Path) -> Refused:
    branch_deleted(cli, path)
    later = dates(int(time.time()) + 1)  # reflogs know seconds, and within one the run would be the new branch's
    cli.repo.git("switch", "-q", "-c", "it's", env=later)
    until(lambda: time.time() > float(later["GIT_COMMITTER_DATE"].split()[0]), "that second comes")
    return Refused(cli, ("resume", "go on"))


def noted_by_an_agent_on_its_branch(cli: Cli, path: Path) -> Refused:
    begun = cli.begin(FAKE_CMD=f"git worktree add -q -b side {path}/side; cd {path}/side; {WORK}")
    side = at(cli, path / "side")
    side.repo.git("notes", "--ref=refs/notes/agent", "copy", begun.start_commit or "", "HEAD")
    return Refused(side, ("resume", "go on"))


def session_of_a_run(cli: Cli, _: Path) -> Refused:
    cli.begin()
    return Refused(cli, ("adopt", "codex", IDS["codex"]))


def clone_without_notes(cli: Cli, path: Path) -> Refused:
    cli.begin()
    cli.repo.clone(path / "clone").git("config", "agent.engine", "codex")
    return Refused(at(cli, path / "clone"), ("resume", "go on"))


def shallow_clone_without_notes(cli: Cli, path: Path) -> Refused:
    """As CI makes one."""
    cli.begin(FAKE_CMD=WORK)
    cli.repo.commit("c3")
    cli.repo.git("clone", "-q", "--depth=1", cli.repo.path.as_uri(), str(path / "clone"))
    clone = at(cli, path / "clone")
    clone.repo.git("config", "agent.engine", "codex")
    return Refused(clone, ("resume", "go on"))


def shallow_clone_with_the_runs_of_the_job_before(cli: Cli, path: Path) -> Refused:
    refused = shallow_clone_without_notes(cli, path)
    shutil.move(cli.layout.root, refused.cli.layout.root)
    return refused


def record_damaged(cli: Cli, _: Path) -> Refused:
    Path(cli.layout.index_file(cli.begin().handle)).write_text("handle: [\n")
    return Refused(cli, ("resume", "go on"))


STATES: list[State] = [
    nothing,
    branch_elsewhere,
    branch_deleted,
    tree_removed,
    tree_deleted_and_locked,
    tree_and_branch_gone,
    detached_beside_a_branch,
    detached_after_a_branch,
    detached_beside_a_work_tree,
    detached_at_another_commit,
    two_without_a_work_tree,
    by_name_without_its_work_tree,
    name_used_again,
    noted_by_an_agent_on_its_branch,
    session_of_a_run,
    clone_without_notes,
    shallow_clone_without_notes,
    shallow_clone_with_the_runs_of_the_job_before,
    record_damaged,
]


def commands(done: Done) -> list[tuple[str, ...]]:
    """What the hints say to type; words in capitals are for the person to fill in."""
    hints = [line.removeprefix("hint: ") for line in done.lines if line.startswith("hint: ")]
    found = [text for hint in hints for text in re.findall(COMMAND, hint)]
    return [tuple(shlex.split(text)) for text in found if not re.search(r"\b(DIR|NAME|HANDLE|SESSION|ENGINE)\b", text)]


def follow(refused: Refused, words: tuple[str, ...]) -> bool:
    """Type it. True where it has done what was wanted: a resume, a start, a list, or what a resume then finds."""
    *before, last = " ".join(shlex.quote(word) for word in words).split(" '&&' ")
    for command in before:
        typed(refused, tuple(shlex.split(command)))
    return typed(refused, tuple(shlex.split(last)))


def typed(refused: Refused, words: tuple[str, ...]) -> bool:
    place = refused.cli.repo.path
    _, *rest = words
    if rest[0] == "-C":
        place, rest = Path(rest[1]), rest[2:]
    if rest[0] != "agent":
        refused.cli.repo._replace(path=place).git(*rest)
        return False
    done = refused.cli.run(*rest[1:], stdin=None, cwd=place, **({"FAKE_ID": "new"} if rest[1] == "start" else {}))
    assert done.status == 0 or commands(done), f"{words} leads nowhere: {done}"
    if rest[1] == "adopt" and "--branch" not in rest:
        return refused.cli.run("resume", "go on", stdin=None, cwd=place).status == 0
    return rest[1] in ("resume", "start", "list") and done.status == 0


def leads_on(refused: Refused, done: Done, first: int) -> None:
    """Follow that hint, then the first of each refusal."""
    number = first
    for _ in range(STEPS):
        if follow(refused, commands(done)[number]):
            return
        number, done = 0, refused.run()
        if done.status == 0:
            return
    raise AssertionError(f"still refused: {done}")


@pytest.mark.parametrize("state", [branch_deleted, tree_and_branch_gone], ids=lambda state: state.__name__)
def test_a_branch_made_again_as_the_first_hint_says_has_its_run(state: State, cli: Cli, tmp_path: Path) -> None:
    """faults A18: one hint, followed once."""
    cli.repo.git("config", "agent.engine", "codex")
    refused = state(cli, tmp_path)
    follow(refused, commands(refused.run())[0])
    assert refused.run().status == 0


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_every_hint_leads_on(state: State, isolated: Path, tmp_path: Path) -> None:
    number, told = 0, 1
    while number < told:
        home = isolated / str(number)
        home.mkdir()
        repo = make(tmp_path / str(number) / "repo")
        repo.git("config", "agent.engine", "codex")
        repo.commit("c1", f="1\n")
        repo.commit("c2", f="2\n")
        (tmp_path / str(number) / "trees").mkdir()
        refused = state(Cli(repo, home), tmp_path / str(number) / "trees")
        done = refused.run()
        assert done.status, f"not refused: {done}"
        hints = commands(done)
        assert hints, f"no hint is a command: {done}"
        own = [words for words in hints if words[2] not in ("start", "list")]  # those come last, and are `nothing`'s
        told = len(hints if state is nothing else own)
        leads_on(refused, done, number)
        number += 1
