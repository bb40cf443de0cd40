"""Where things live under the common git directory. Pure: nothing here touches the disk.

<git common dir>/agent/
    index/<handle>.yaml                        the record
    runs/<run id>/attempts/0001/attempt.yaml   and stdout, stderr, pty-output
    locks/                                     lock files; those that are held long say by whom
    cache/list, cache/notes                    derived; may be deleted at any time
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.core.errors import UserError

if TYPE_CHECKING:
    from datetime import datetime

HANDLE_LENGTH = 8
HEX = "0123456789abcdef"
RUN_ID_FORM = r"[0-9]{8}T[0-9]{6}Z-[a-z0-9][a-z0-9._-]*-[0-9a-f]{8}"
_RUN_ID = re.compile(RUN_ID_FORM)


class Layout(NamedTuple):
    """Paths of one repository's runs. `common_dir` is the absolute common git directory.

    Handles and run ids are checked before they become part of a path: a handle may have been typed by
    a person or read from a note that somebody else wrote.
    """

    common_dir: str

    @property
    def root(self) -> str:
        return f"{self.common_dir}/agent"

    @property
    def index_dir(self) -> str:
        return f"{self.root}/index"

    @property
    def runs_dir(self) -> str:
        return f"{self.root}/runs"

    @property
    def cache_file(self) -> str:
        return f"{self.root}/cache/list"

    @property
    def notes_file(self) -> str:
        return f"{self.root}/cache/notes"

    def index_file(self, handle: str) -> str:
        """The record's file. Raises UserError `handle_malformed` unless `handle` is one."""
        return f"{self.index_dir}/{_checked_handle(handle)}.yaml"

    def run(self, run_id: str) -> str:
        """The run directory. Raises UserError `run_id_malformed` unless `run_id` is one."""
        if not is_run_id(run_id):
            raise UserError(f"{run_id!a} is not a run id", code="run_id_malformed")
        return f"{self.runs_dir}/{run_id}"

    def attempt(self, run_id: str, number: int) -> str:
        return f"{self.run(run_id)}/attempts/{number:04d}"

    def record_lock(self, handle: str) -> str:
        """Held for a moment, while a record is read, changed and written."""
        return self.lock(f"record-{_checked_handle(handle)}")

    def run_lock(self, handle: str) -> str:
        """Held as long as an attempt of the run lives: this is what makes a run `running`."""
        return self.lock(f"run-{_checked_handle(handle)}")

    def waiting_lock(self, handle: str) -> str:
        """Held by the `resume --wait` that is the next one of the run."""
        return self.lock(f"waiting-{_checked_handle(handle)}")

    def lock(self, name: str) -> str:
        """A lock file by a name of ours, such as `notes`."""
        return f"{self.root}/locks/{name}"


def run_directory(run_id: str) -> str:
    """A record's `runDirectory`: relative to the common git directory, so that a moved repository keeps its runs."""
    return f"agent/runs/{run_id}"


def is_handle(text: str) -> bool:
    return len(text) == HANDLE_LENGTH and not text.strip(HEX)


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


def handle_of(run_id: str) -> str:
    return run_id[-HANDLE_LENGTH:]


def new_handle() -> str:
    """Eight characters, drawn by the operating system: to import `random` costs a start 3 ms."""
    return os.urandom(HANDLE_LENGTH // 2).hex()


def new_run_id(now: datetime, engine: str, suffix: str) -> str:
    """`<UTC timestamp>-<engine>-<suffix8>`; `now` must know its time zone. Raises ValueError when it is none."""
    from datetime import UTC  # costs 4 ms, and only a start needs it

    run_id = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{engine}-{suffix}"
    if now.tzinfo is None or not is_run_id(run_id):
        raise ValueError(f"cannot make a run id of {now!r}, {engine!r} and {suffix!r}")
    return run_id


def _checked_handle(handle: str) -> str:
    if is_handle(handle):
        return handle
    raise UserError(
        f"{handle!a} is not a handle",
        code="handle_malformed",
        hints=("a handle is 8 characters of 0-9 and a-f; `git agent list` shows them",),
    )
