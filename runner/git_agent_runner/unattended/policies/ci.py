"""What a CI says of the newest commit of a run's branch: the command of `on_ci` prints it, as `gh run list --json`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.core.data import end_of_log, fenced
from git_agent_runner.git import in_repo, refs
from git_agent_runner.store.records.rows import Row
from git_agent_runner.unattended.policies.model import Action
from git_agent_runner.unattended.worker import run_command

EVERY = 30.0  # seconds between two looks at the CI
COMES = 600.0  # for so long a pushed commit without any result is waited for
PATIENCE = 60.0  # seconds for each command; the other runs wait meanwhile
TRIES = 3  # in a row, of a command that fails
_LARGEST = 1 << 20  # bytes of what a command prints
_FIELD = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[\w.][\w.:/@+-]*")  # a value of the CI's must not become a flag

State = Literal["failed", "pending", "over", "unknown"]


class CiAnswer(NamedTuple):
    """What the CI says of the commit; `why` is for people where its command does not say it."""

    row: Row
    commit: str
    state: State
    fields: Mapping[str, str] = {}
    why: str = ""


class Ci:
    """The results that may still come. One command runs at a time, and each run's every `EVERY` seconds at most."""

    def __init__(self, ctx: Context, action: Action) -> None:
        self._ctx = ctx
        self._action = action
        self._next = 0.0
        self._queue: list[tuple[Row, str]] = []
        self._over: set[tuple[str, str]] = set()  # handle and commit whose result is known
        self._waits: dict[str, tuple[str, float]] = {}  # handle -> the commit, and since when its result is waited for
        self._tries: dict[str, int] = {}

    def waits(self) -> bool:
        return bool(self._queue or self._waits)

    def ask(self, rows: Iterable[Row]) -> CiAnswer | None:
        """What the CI says of the next of these runs' branches; None once each was asked for."""
        now = time.monotonic()
        if not self._queue and now >= self._next:
            self._next = now + EVERY
            tips = refs.branches(self._ctx.repo, None).heads
            known = [(row, tips[row.branch]) for row in rows if row.branch in tips]
            self._queue = [(row, tip) for row, tip in known if (row.handle, tip) not in self._over]
            self._waits = {row.handle: self._waits[row.handle] for row, _ in self._queue if row.handle in self._waits}
        if not self._queue:
            return None
        row, tip = self._queue.pop(0)
        answer = _asked(self._ctx, self._action, row, tip)
        self._learn(answer, now)
        return answer

    def _learn(self, answer: CiAnswer, now: float) -> None:
        handle, commit = answer.row.handle, answer.commit
        self._tries[handle] = self._tries.get(handle, 0) + 1 if answer.why else 0
        known, since = self._waits.pop(handle, ("", now))
        since = since if known == commit else now
        if answer.state in ("failed", "over") or self._tries[handle] >= TRIES:
            self._over.add((handle, commit))
        elif answer.state == "pending" or answer.why or (now < since + COMES and _pushed(self._ctx, commit)):
            self._waits[handle] = (commit, since)

    def message(self, answer: CiAnswer) -> str:
        """For the agent: the policy's words, or ours, and the end of the log where the policy has a command for it."""
        says = f"CI says {self._action.when} for commit {answer.commit} of this branch."
        words = self._action.message or f"{says} Find out why, and fix it."
        if not self._action.log:
            return words
        status, out = _printed(self._ctx, answer.row, _filled(self._action.log, answer.fields))
        log = end_of_log(out)
        if status or not log.strip():
            return words
        return f"{words}\n{fenced('the end of the log of CI', log)}"


def _asked(ctx: Context, action: Action, row: Row, commit: str) -> CiAnswer:
    known = {"branch": row.branch or "", "headSha": commit}
    status, out = _printed(ctx, row, _filled(action.run, known))
    command = f"'{action.run[0]}' of on_ci"
    if status:
        return CiAnswer(row, commit, "unknown", why=f"{command} ended with {status}")
    try:
        found = json.loads(out)
    except (ValueError, RecursionError):
        return CiAnswer(row, commit, "unknown", why=f"{command} printed no JSON")
    rows = [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]
    mine = [one for one in rows if one.get("headSha") == commit]
    failed = next((one for one in mine if one.get("conclusion") == action.when), None)
    if failed:
        return CiAnswer(row, commit, "failed", {**_words(failed), **known})
    if not mine:
        return CiAnswer(row, commit, "unknown")
    return CiAnswer(row, commit, "over" if all(one.get("conclusion") for one in mine) else "pending")


def _words(found: Mapping[str, object]) -> dict[str, str]:
    values = {key: str(value) for key, value in found.items() if isinstance(value, (str, int))}
    return {key: value for key, value in values.items() if _WORD.fullmatch(value)}


def _filled(words: Iterable[str], fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(_FIELD.sub(lambda found: fields.get(found[1], found[0]), word) for word in words)


def _printed(ctx: Context, row: Row, words: tuple[str, ...]) -> tuple[int, bytes]:
    """The command's exit status, and the end of what it printed."""
    data = bytearray()

    def keep(chunk: memoryview) -> None:
        data.extend(chunk)
        if len(data) > 2 * _LARGEST:
            del data[:-_LARGEST]

    return run_command(ctx, ctx.runs.read(row.handle), words, PATIENCE, keep), bytes(data[-_LARGEST:])


def _pushed(ctx: Context, commit: str) -> bool:
    words = ("for-each-ref", "--count=1", f"--points-at={commit}", "--format=%(refname)", "refs/remotes")
    return bool(in_repo(ctx.repo, *words, check=False).out)
