"""Records and attempts of no repository in particular, and the worker that tests of the index start many times."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from git_agent_extractors.model import Session
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import index as store_index
from git_agent_runner.store.records.index import HandleTaken, Index

HANDLE = "7f3a9c21"
MOMENT = "2026-11-27T10:15:02.000Z"


def run_id(handle: str = HANDLE) -> str:
    return f"20261127T101502Z-codex-{handle}"


def record(handle: str = HANDLE, **changes: Any) -> Record:
    made = Record(
        handle=handle,
        run_id=run_id(handle),
        run_directory=f"agent/runs/{run_id(handle)}",
        agent_name="codex",
        session=Session("thread_id", "0199c9a8-81c0-7800-8aa1-7ffac1586f13"),
        launch_args=("--model", "gpt-5"),
        updated_at=MOMENT,
        branch="feature/retry",
        worktree="/home/dev/repo",
        worktree_id="worktrees/repo@1795826472123456789",
        cwd="/home/dev/repo/src",
        common_dir="/home/dev/repo/.git",
        common_dir_id="2049:1835021",
        start_commit="1a2b3c4d" * 5,
        status="completed",
        attempts=1,
        created_at=MOMENT,
        host="box",
        engine_version="0.171.0",
    )
    return made._replace(**changes)


def attempt(number: int = 1, **changes: Any) -> Attempt:
    source = record()
    made = Attempt(
        number=number,
        kind="start" if number == 1 else "resume",
        run_id=source.run_id,
        agent_name=source.agent_name,
        branch=source.branch,
        worktree=source.worktree,
        worktree_id=source.worktree_id,
        cwd=source.cwd,
        common_dir=source.common_dir,
        common_dir_id=source.common_dir_id,
        start_commit=source.start_commit,
        argv=("codex", "exec", "--json", "-"),
        launch_args=source.launch_args,
        message="fix it",
        engine_version=source.engine_version,
        host=source.host,
        started_at=MOMENT,
        created_at=MOMENT,
        ended_at=MOMENT,
        status="completed",
        session=source.session,
    )
    return made._replace(**changes)


def written(path: str | Path) -> tuple[int, int, int]:
    """What changes about a file that is written, and not when it is read."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def worker(common_dir: str, job: str, count: int) -> subprocess.Popen[str]:
    """A process that does one of the jobs below, `count` times, and prints a line for each one done."""
    words = (sys.executable, __file__, common_dir, job, str(count))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env)


def _create(index: Index) -> str:
    while True:
        handle = f"{random.randrange(50):02d}000000"  # so few that they do collide
        try:
            index.create(record(handle))
        except HandleTaken:
            continue
        return handle


def _count(index: Index) -> str:
    return str(index.update(HANDLE, lambda old: old._replace(attempts=old.attempts + 1)).attempts)


def _grow(index: Index) -> str:
    """Each record is of another size, so that a half-written one could not look whole."""

    def longer(old: Record) -> Record:
        return old._replace(attempts=old.attempts + 1, launch_args=("x" * 997,) * (old.attempts % 97))

    return str(index.update(HANDLE, longer).attempts)


def _main(common_dir: str, job: str, count: str) -> None:
    store_index._PATIENCE = 600.0
    jobs = {"create": _create, "count": _count, "grow": _grow}
    for _ in range(int(count)):
        print(jobs[job](Index(Layout(common_dir))), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
