"""A repository with many runs and many notes, and engines' session stores, as a busy year would leave them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from git_agent_extractors.model import Session
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.store import records
from git_agent_runner.store.files.layout import Layout, run_directory
from git_agent_runner.store.notes.noteline import render
from git_agent_runner.store.records import attempts, document

EPOCH = 1_700_000_000  # seconds since the epoch: the first run; each next one is a minute younger
VERSIONS = {"claude": "2.1.332 (Claude Code)", "codex": "codex-cli 0.171.0"}
NOTED = "feature/noted"  # has no pointer: only its note names its run
CLAUDE_TURN = '{"type":"user","message":{"role":"user","content":"write the parser"},"cwd":"%s","timestamp":"%s"}'
CODEX_META = '{"timestamp":"%s","type":"session_meta","payload":{"id":"%s","cwd":"%s","timestamp":"%s"}}'
CODEX_TURN = '{"timestamp":"%s","type":"event_msg","payload":{"type":"user_message","message":"write the parser"}}'
RESUMED = {"feature/claude": "claude", "feature/codex": "codex", NOTED: "claude"}  # branch -> engine


class Size(NamedTuple):
    """How many of each; `sessions` in the store of each engine. `attempts`: has each record a run directory? `stopped`:
    that many of the newest runs were interrupted, each in its own work tree.
    """

    records: int = 10_000
    commits: int = 10_000
    branches: int = 300
    sessions: int = 2_000
    attempts: bool = False
    stopped: int = 0


class Site(NamedTuple):
    """`trees` are the work trees by the branch that is checked out there. `env` is a person's whole environment."""

    layout: Layout
    trees: dict[str, str]
    env: dict[str, str]
    records: list[Record]


def build(folder: Path, size: Size) -> Site:
    """Make it all below `folder`."""
    env = _environment(folder)
    top = folder / "repository"
    git = _Git(top, env)
    git("init", "-q", "-b", "main", str(top))
    commits = _commits(git, size)
    trees = {branch: str(folder / f"tree-{engine}-{branch[8:]}") for branch, engine in RESUMED.items()}
    for branch, tree in trees.items():
        git("worktree", "add", "-q", "-b", branch, tree, "main")
        git.at(tree)("commit", "-q", "--allow-empty", "-m", branch)
    layout = Layout(str(top / ".git"))
    made = [_record(number, size, commits, str(top)) for number in range(size.records - len(RESUMED))]
    for branch, tree in trees.items():
        made.append(_resumed(len(made), branch, tree, git.at(tree)("rev-parse", "HEAD")))
    made = (
        made[: -size.stopped - len(RESUMED)]
        + [_stopped(git, record, folder) for record in made[-size.stopped - len(RESUMED) : -len(RESUMED)]]
        + made[-len(RESUMED) :]
    )
    _write_records(layout, made, begun=made if size.attempts else made[-len(RESUMED) :])
    _write_notes(git, commits, made)
    _point(layout, made)
    _install_engines(folder, layout)
    _fill_stores(folder / "home", made, size.sessions)
    return Site(layout, trees, env, made)


def program(env: Mapping[str, str], name: str) -> str:
    """Its absolute path, as a shell would find it."""
    path = shutil.which(name, path=env["PATH"])
    if path is None:
        raise RuntimeError(f"{name} is not installed")
    return path


class _Git:
    """Git in one work tree; what it prints, without the last line break."""

    def __init__(self, cwd: Path | str, env: Mapping[str, str]) -> None:
        self._cwd, self._env = Path(cwd), env

    def at(self, cwd: str) -> _Git:
        return _Git(cwd, self._env)

    def __call__(self, *words: str, stdin: Iterable[str] = ()) -> str:
        cwd = self._cwd if self._cwd.exists() else None
        done = subprocess.run(
            ("git", *words), cwd=cwd, env=self._env, input="".join(stdin), text=True, stdout=subprocess.PIPE, check=True
        )
        return done.stdout.removesuffix("\n")


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the machine's or the caller's, but where programs lie."""
    home = folder / "home"
    home.mkdir(parents=True)
    (home / ".gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.invalid\n")
    return {
        "HOME": str(home),
        "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.defpath}",
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        # Branches older than their runs: no run is taken for one of a dead branch of the same name.
        "GIT_COMMITTER_DATE": f"{EPOCH - 86_400} +0000",
    }


def _commits(git: _Git, size: Size) -> list[str]:
    """`size.commits`, most of them on main, the last ones each the tip of a branch; their names."""
    on_main = size.commits - size.branches
    person = f"committer Bench <bench@example.invalid> {EPOCH - 90_000} +0000"
    stream = ["feature done\n"]
    for mark in range(1, size.commits + 1):
        number = mark - on_main
        ref = "refs/heads/main" if number <= 0 else f"refs/heads/feature/{number - 1}"
        base = "" if mark == 1 else f"from :{mark - 1 if number <= 0 else on_main}\n"
        stream.append(f"commit {ref}\nmark :{mark}\n{person}\ndata 0\n{base}")
        stream.append(f"M 644 inline file-{mark % 50}.txt\ndata {len(str(mark))}\n{mark}\n\n")
    git("fast-import", "--quiet", stdin=(*stream, "done\n"))
    git("reset", "-q", "--hard", "main")
    git("gc", "-q")  # as git itself does from time to time: branches packed, a commit graph
    return git("rev-list", "--all").split()


def _moment(number: int) -> str:
    return datetime.fromtimestamp(EPOCH + 60 * number, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _session(number: int) -> str:
    return str(uuid.UUID(int=(0x0199 << 112) | (7 << 76) | (2 << 62) | number))


def _record(number: int, size: Size, commits: list[str], top: str, engine: str = "") -> Record:
    engine = engine or ("claude", "codex")[number % 2]
    handle = f"{number * 2_654_435_761 % 2**32:08x}"  # spread as random ones are, and never twice
    started = datetime.fromtimestamp(EPOCH + 60 * number, UTC).strftime("%Y%m%dT%H%M%SZ")
    run_id = f"{started}-{engine}-{handle}"
    return Record(
        handle=handle,
        run_id=run_id,
        run_directory=run_directory(run_id),
        agent_name=engine,
        session=Session({"claude": "session_id", "codex": "thread_id"}[engine], _session(number)),
        launch_args=("--model", "some-model"),
        updated_at=_moment(number + 1),
        branch=f"feature/{number % size.branches}",
        worktree=top,
        cwd=top,
        start_commit=commits[number % len(commits)],
        status="completed",
        attempts=1,
        created_at=_moment(number),
        host=os.uname().nodename,
        engine_version=VERSIONS[engine].replace("codex-cli ", "").split()[0],
    )


def _resumed(number: int, branch: str, tree: str, head: str) -> Record:
    record = _record(number, Size(), [head], tree, RESUMED[branch])
    return record._replace(branch=branch, start_commit=head)


def _stopped(git: _Git, record: Record, folder: Path) -> Record:
    tree = str(folder / "trees" / record.handle)
    git("worktree", "add", "-q", "--no-checkout", tree, str(record.branch))
    return record._replace(status="interrupted", worktree=tree, cwd=tree)


def _write_records(layout: Layout, made: list[Record], begun: list[Record]) -> None:
    """In the store's own form, without the fsyncs that ten thousand real runs would have paid over a year."""
    Path(layout.index_dir).mkdir(parents=True)
    for record in made:
        Path(layout.index_file(record.handle)).write_text(records.render(record))
    for record in begun:
        folder = Path(layout.attempt(record.run_id, 1))
        folder.mkdir(parents=True)
        (folder / attempts.FILE).write_text(document.render(attempts.SHAPE, _attempt(record)))
        (folder / "stdout").write_text("{}\n")


def _attempt(record: Record) -> Attempt:
    return Attempt(
        number=1,
        kind="start",
        run_id=record.run_id,
        agent_name=record.agent_name,
        branch=record.branch,
        worktree=record.worktree,
        cwd=record.cwd,
        start_commit=record.start_commit,
        argv=(record.agent_name,),
        launch_args=record.launch_args,
        message="write the parser",
        engine_version=record.engine_version,
        host=record.host,
        started_at=record.created_at,
        created_at=record.created_at,
        ended_at=record.updated_at,
        exit_status=0,
        status=record.status,
        head_after=record.start_commit,
        session=record.session,
    )


def _write_notes(git: _Git, commits: list[str], made: list[Record]) -> None:
    """Each commit noted by one run, those of the resumed branches by theirs."""
    noted = dict(zip(commits, made, strict=False))
    noted |= {record.start_commit: record for record in made[-len(RESUMED) :] if record.start_commit}
    stream = ["commit refs/notes/agent\n", f"committer Bench <bench@example.invalid> {EPOCH} +0000\ndata 0\n"]
    for commit, record in noted.items():
        line = f"{render(record)}\n"
        stream.append(f"N inline {commit}\ndata {len(line.encode())}\n{line}")
    git("fast-import", "--quiet", stdin=stream)


def _point(layout: Layout, made: list[Record]) -> None:
    """As `git config` writes it, at once for all branches."""
    newest = {record.branch: record.handle for record in made if record.branch != NOTED}
    with open(f"{layout.common_dir}/config", "a", encoding="utf-8") as file:
        file.writelines(f'[branch "{branch}"]\n\tagentHandle = {handle}\n' for branch, handle in newest.items())


def _install_engines(folder: Path, layout: Layout) -> None:
    """Stand-ins: a dry run only asks them for their version, and that once."""
    with open(f"{layout.common_dir}/config", "a", encoding="utf-8") as file:
        for engine, version in VERSIONS.items():
            path = folder / "bin" / engine
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\necho '{version}'\n")
            path.chmod(0o755)
            file.write(f'[agent "{engine}"]\n\tbinary = {path}\n')


def _fill_stores(home: Path, made: list[Record], count: int) -> None:
    """The newest sessions; the one that is resumed is neither the first nor the last that a search comes across."""
    for record in made[-2 * count :]:
        path = _claude_file(home, record) if record.agent_name == "claude" else _codex_file(home, record)
        path.parent.mkdir(parents=True, exist_ok=True)
        if record.agent_name == "claude":
            lines = [CLAUDE_TURN % (record.cwd, record.created_at)]
        else:
            meta = CODEX_META % (record.created_at, record.session.value, record.cwd, record.created_at)
            lines = [meta, CODEX_TURN % record.created_at]
        path.write_text("".join(f"{line}\n" for line in lines))


def _claude_file(home: Path, record: Record) -> Path:
    """A folder for each directory a person works in; most of these are other repositories' here."""
    own = record.branch in RESUMED
    place = record.cwd if own else f"{record.cwd}-{int(record.handle, 16) % 100}"
    folder = "".join(char if char.isascii() and char.isalnum() else "-" for char in place)
    return home / ".claude" / "projects" / folder / f"{record.session.value}.jsonl"


def _codex_file(home: Path, record: Record) -> Path:
    """A folder for each of some hundred days."""
    own = record.branch in RESUMED
    day = datetime.fromtimestamp(EPOCH + 86_400 * (100 if own else int(record.handle, 16) % 200), UTC)
    name = f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{record.session.value}.jsonl"
    return home / ".codex" / "sessions" / f"{day:%Y/%m/%d}" / name
