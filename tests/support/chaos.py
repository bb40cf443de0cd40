"""A random walk of a person who works with branches and agents: what is done, and whether the program keeps up.

Everything is real but the engines: git, the command line, linked work trees, hooks, clones, a git-agent that is killed.
After each step every branch is asked for its run, and every run for its branch; a refusal's hints are followed.
"""

from __future__ import annotations

import random
import re
import shlex
import time
from pathlib import Path
from typing import Any

from git_agent_runner.core.errors import UserError
from git_agent_runner.find.identity import Identities
from git_agent_runner.find.resolve import resolve
from git_agent_runner.git import settings
from git_agent_runner.store import notes
from git_agent_runner.store.records.index import Index
from git_agent_runner.store.records.listing import listing
from support.branching import Op, Oracle, git_words
from support.cli import Cli, Done
from support.gitrepo import GitRepo, make

NAMES = ("a", "b", "c")
OWN = ("worktree", "resume", "again", "killed", "two", "moved", "hooks", "prune", "clone")  # beside those of branches
COMMAND = re.compile(r"(?:^hint: |: )(git (?:agent (?:resume|adopt|start)|switch|-C|worktree)[^;,`&]*)")
OPEN = re.compile(r"\b(DIR|HANDLE|VALUE|NAME|SESSION)\b")


# What an engine's stand-in does: once its session is in the record, it kills the git-agent that started it.
KNOWN = "grep -q value.*-.*- $(git rev-parse --git-common-dir)/agent/index/$GIT_AGENT_HANDLE.yaml"
KILL = "kill -9 $(ps -o ppid= $PPID)"


def waiting(condition: str) -> str:
    return f"i=0; until {condition} || [ $((i+=1)) -gt 6000 ]; do sleep 0.05; done"


class Walk:
    """One walk; `done` is what was done so far, for the message that tells of a failure."""

    def __init__(self, seed: int, room: Path, home: Path) -> None:
        self.random = random.Random(seed)
        self.seed, self.room = seed, room
        repo = make(room / "repo")
        repo.commit("c1", when=int(time.time()) - 10, f="a\n")
        repo.git("init", "-q", "--bare", "-b", "main", str(room / "hub.git"))
        repo.git("remote", "add", "origin", str(room / "hub.git"))
        repo.git("push", "-q", "origin", "main")
        self.cli = Cli(repo, home)
        self.oracle = Oracle()
        self.twins: dict[str, set[str]] = {}
        self.trees: dict[str, Path] = {}  # branches that are checked out in linked work trees
        self.done: list[str] = []
        self.clones = 0

    def fail(self, what: str) -> None:
        raise AssertionError(f"SEED={self.seed}: {what}\n  after: {'; '.join(self.done)}")

    def step(self) -> None:
        """One thing more, and a look at everything."""
        verb = self.random.choice(("git", "git", "git", *OWN))
        if verb == "git":
            self._git(self.random.choice(list(self.oracle.possible(NAMES))))
        else:
            getattr(self, f"_{verb}")()
        self.look()

    def _say(self, text: str) -> None:
        self.done.append(text)
        # Reflogs know seconds: what is done in one second cannot be told from what is done in the next.
        time.sleep(1.0 - time.time() % 1.0)

    def run(self, *words: str, cwd: Path | None = None, **environ: str) -> Done:
        done = self.cli.run(*words, stdin=None, cwd=cwd, FAKE_ID="new" if "start" in words else "", **environ)
        if done.status == 70 or "Traceback" in done.err:
            self.fail(f"git agent {shlex.join(words)}: {done.err}")
        return done

    def handles(self) -> set[str]:
        return set(Index(self.cli.layout).handles())

    def living(self) -> list[str]:
        return [name for name in self.oracle.ids if name != "main"]

    def at(self, name: str) -> Path:
        """A work tree where the branch is checked out."""
        if name in self.trees:
            return self.trees[name]
        if self.oracle.head != name:
            self.cli.repo.git("switch", "-q", name)
            self.oracle.head = name
        return self.cli.repo.path

    def _git(self, op: Op) -> None:
        self._say(str(op))
        if op.verb == "start":
            self._start(op.name)
            return
        if op.verb == "commit":
            GitRepo(self.at(op.name)).git("commit", "-q", "--allow-empty", "-m", "work", env=self.cli.environ())
            return
        gone = op.name if op.verb == "delete" else op.to if op.to in self.oracle.ids else None
        if gone in self.trees:
            self.cli.repo.git("worktree", "remove", "--force", str(self.trees.pop(gone)))
        if where := self.oracle.switched(op):
            if where in self.trees:
                self.cli.repo.git("worktree", "remove", "--force", str(self.trees.pop(where)))
            self.at(where)
        self.cli.repo.git(*git_words(op, self.oracle))
        self.oracle.apply(op)
        if op.verb == "rename" and op.name in self.trees:
            self.trees[op.to] = self.trees.pop(op.name)

    def _start(self, name: str, **environ: str) -> None:
        cwd, before = self.at(name), self.handles()
        done = self.run("start", "-e", "codex", "work", cwd=cwd, **environ)
        new = self.handles() - before
        if len(new) != 1:
            self.fail(f"start made {new}: {done.err}")
        self._went_on(name, *new)

    def _went_on(self, name: str, handle: str) -> None:
        """The run is this branch's from now on, and its newest."""
        for runs in self.oracle.runs.values():
            if handle in runs:
                runs.remove(handle)
        self.oracle.runs[self.oracle.ids[name]].append(handle)

    def _branch(self) -> str | None:
        return self.random.choice(self.living()) if self.living() else None

    def _worktree(self) -> None:
        name = self._branch()
        if name and name not in self.trees and name != self.oracle.head:
            self._say(f"worktree add {name}")
            path = self.room / f"tree-{len(self.done)}"
            self.cli.repo.git("worktree", "add", "-q", str(path), name)
            self.trees[name] = path

    def _killed(self) -> None:
        """git-agent is killed while its engine works."""
        if name := self._branch():
            self._say(f"start {name}, killed")
            pointed = f"git config --get-all branch.{name}.agentHandle | grep -q $GIT_AGENT_HANDLE"
            self._start(name, FAKE_CMD=f"{waiting(f'{pointed} && {KNOWN}')}; {KILL}")

    def _moved(self) -> None:
        """The agent renames the branch that it is on, to a new name or to one that was there before."""
        free = [name for name in NAMES if name not in self.oracle.ids]
        if (name := self._branch()) and free:
            to = self.random.choice(free)
            self._say(f"start {name}, which is renamed to {to} meanwhile")
            self._start(name, FAKE_CMD=f"sleep 1.1; git branch -m {name} {to}")
            self.oracle.apply(Op("rename", name, to))
            if name in self.trees:
                self.trees[to] = self.trees.pop(name)

    def _two(self) -> None:
        """Two at once: the branch stays with the one that began last."""
        if not (name := self._branch()):
            return
        self._say(f"start {name} twice at once")
        cwd, before = self.at(name), self.handles()
        both = [
            self.cli.start("start", "-e", "codex", str(n), cwd=cwd, FAKE_ID="new", FAKE_CMD=f"sleep 0.{n}")
            for n in self.random.sample((1, 5), 2)
        ]
        said = [one.communicate(timeout=60)[1].decode() for one in both]
        new = self.handles() - before
        if len(new) != 2:
            self.fail(f"two starts made {new}: {said}")
        self.twins.update(dict.fromkeys(new, new))
        # Of two that began in one millisecond, either may be taken for the last.
        has = self.cli.repo.git("config", f"branch.{name}.agentHandle")
        for handle in sorted(new, key=lambda handle: (self.cli.attempt(handle=handle).started_at, handle == has)):
            self._went_on(name, handle)

    def _resume(self) -> None:
        """Go on with the branch's run; where there is none, with what a hint says."""
        if not (name := self._branch()):
            return
        self._say(f"resume {name}")
        cwd = self.at(name)
        before = {handle: self.cli.record(handle).attempts for handle in self.handles()}
        done = self.run("resume", "--cwd", str(cwd), "go on", cwd=cwd)
        went = [handle for handle, number in before.items() if self.cli.record(handle).attempts > number]
        if not _right(went, self.oracle.right(name)):
            self.fail(f"resume on {name} went on with {went}, not {self.oracle.right(name)}: {done.err}")
        if went:
            self._went_on(name, went[0])
        else:
            self._follow(name, done, cwd)

    def _again(self) -> None:
        """Start or go on."""
        if name := self._branch():
            self._say(f"start --resume {name}")
            cwd, before = self.at(name), self.handles()
            right = self.oracle.right(name)
            attempts = {handle: self.cli.record(handle).attempts for handle in before}
            done = self.run("start", "--resume", "-e", "codex", "go on", cwd=cwd)
            went = [handle for handle in before if self.cli.record(handle).attempts > attempts[handle]]
            new = self.handles() - before
            if not _right(went, right) or len(went) + len(new) != 1:
                self.fail(f"start --resume on {name} made {new}, went on with {went}, not {right}: {done.err}")
            self._went_on(name, *went, *new)

    def _follow(self, name: str, refused: Done, cwd: Path) -> None:
        """Any command that a hint names has to work."""
        commands = [text for line in refused.lines if line.startswith("hint:") for text in COMMAND.findall(line)]
        commands = [text for text in commands if not OPEN.search(text)]
        if not commands:
            self.fail(f"no hint of what to do: {refused.err}")
        words = shlex.split(self.random.choice(commands).replace("<message>", "go on").replace("<prompt>", "work"))
        self.done.append(f"hint: {shlex.join(words)}")
        before = self.handles()
        if words[:2] == ["git", "agent"]:
            given = ["-e", "codex"] if words[2] == "start" else []
            done = self.run(words[2], *given, *words[3:], cwd=cwd)
            if done.status:
                self.fail(f"the hint {words} fails: {done.err}")
            new = self.handles() - before
            self._went_on(name, new.pop() if new else next(word for word in words if word in before))
            return
        GitRepo(cwd).git(*words[1:])
        if cwd == self.cli.repo.path:
            self.oracle.head = GitRepo(cwd).facts().branch or "main"
        else:
            self.trees[GitRepo(cwd).facts().branch or ""] = self.trees.pop(name)

    def _hooks(self) -> None:
        self._say("hooks install")
        if (done := self.run("hooks", "install")).status:
            self.fail(done.err)

    def _prune(self) -> None:
        """Nothing is merged on these walks: only runs of branches that are gone may go."""
        self._say("prune --merged")
        before = self.handles()
        self.run("prune", "--merged")
        for handle in before - self.handles():
            if owner := self.oracle.owner(handle):
                self.fail(f"prune took {handle} of {owner}")
            self.oracle.copied = {number: run for number, run in self.oracle.copied.items() if run != handle}

    def _clone(self) -> None:
        """What another clone learns by the notes. They name branches as they were called then, and no clone has our
        reflogs: of a name that was used again it may learn an older branch's run, which it does not resume by itself.
        Of two runs that were begun at once it takes the one that ended last.
        """
        self._say("push, clone, fetch")
        self.cli.repo.git("push", "-q", "--force", "--prune", "origin", "refs/heads/*:refs/heads/*")
        if (done := self.run("push", "origin")).status and self.handles():
            self.fail(done.err)
        self.clones += 1
        clone = GitRepo(self.room / "hub.git").clone(self.room / f"clone-{self.clones}")
        self.run("fetch", "origin", cwd=clone.path)
        for name in self.oracle.ids:
            clone.git("checkout", "-q", name)
            done = self.run("resume", "--dry-run", "x", cwd=clone.path)
            named = re.findall(r"run ([0-9a-f]{8}) is known only from its note", done.err)
            found = (note for runs in notes.read(clone.facts()).by_commit.values() for note in runs)
            elder = {note.handle for note in found if note.branch == name and self.oracle.owner(note.handle) != name}
            right = {twin for run in self.oracle.right(name) for twin in self.twins.get(run or "", {run})}
            if done.status == 0 or {*named} - right - elder:
                self.fail(f"a clone takes {named} for {name}'s, not {self.oracle.right(name)}")

    def look(self) -> None:
        """Every branch is asked for its run, and every run for its branch."""
        facts, index = self.cli.repo.facts(), Index(self.cli.layout)
        config, now = settings.read(facts), time.time() + 1
        for name in self.oracle.ids:
            got = _run_of(facts, config, index, now, name)
            if got not in self.oracle.right(name):
                self.fail(f"{name} has {got}, not {self.oracle.right(name)}")
        rows = listing(index.layout, now).rows
        identities = Identities(facts, config, now, {row.handle: row for row in rows}.get)
        for row in rows:
            owner = self.oracle.owner(row.handle)
            owners = {owner} if owner else {None, *self.oracle.heirs(row.handle)}
            if identities.owner(row) not in owners:
                self.fail(f"{row.handle} is of {identities.owner(row)}, not of {owners}")


def _right(went: list[str], right: set[str | None]) -> bool:
    return went[0] in right if went else None in right


def _run_of(facts: Any, config: Any, index: Index, now: float, name: str) -> str | None:
    try:
        run = resolve(facts, config, index, now, branch=name)
    except UserError as error:
        return None if error.code == "no_run" else error.message
    where = run.record.branch if run.record else name
    return run.handle if where == name else f"{run.handle} as a run of {where}"


def ordinary(environ: dict[str, str], home: Path) -> dict[str, str]:
    """The environment of a walk: the clock runs, and nothing of the machine's own git configuration counts."""
    kept = {name: value for name, value in environ.items() if not name.startswith(("GIT_", "XDG_"))}
    people = {f"GIT_{who}_{what}": "a@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    quiet = {
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": "",
        "TZ": "UTC",
    }
    return {**kept, **people, **quiet, "HOME": str(home), "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "file"}
