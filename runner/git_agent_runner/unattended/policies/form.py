"""Policies as TOML, read so that a complaint names the file, the key and what is expected there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any, cast, get_args

from git_agent_extractors.model import Status
from git_agent_runner.core.clock import duration
from git_agent_runner.core.errors import UserError
from git_agent_runner.unattended.policies.model import TRIGGERS, VALID, Action, ActionKind, Policy, Rule, Trigger

LARGEST = 64 * 1024  # bytes of a policies file
RENAMED = "recover"  # what `resume` was called where these policies come from
ERRORS: tuple[Status, ...] = tuple(
    status for status in get_args(Status) if status not in ("completed", "interrupted", "stalled")
)
_WHY = {
    ("on_dead", "nudge"): "a dead agent cannot be nudged: resume it",
    ("on_error", "nudge"): "an agent that is alive is nudged by itself: write resume",
    ("on_error", "done"): "an agent that failed is not done",
    ("on_idle", "resume"): "an agent that is alive is nudged, not resumed: write nudge",
}


def read(text: str, origin: str, warn: Callable[[str], None]) -> Policy:
    """The policy in a file. Raises UserError `policy_invalid`; `warn` gets a sentence about a word that was renamed."""
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number or a nest that is too long for Python
        raise _wrong(origin, "", f"valid TOML: {error}") from None
    _known(found, TRIGGERS, origin, "")
    form = _Form(origin, warn)
    return Policy(
        on_dead=form.action(found["on_dead"], "on_dead") if "on_dead" in found else None,
        on_error=form.rules(found["on_error"]) if "on_error" in found else (),
        on_idle=form.action(found["on_idle"], "on_idle") if "on_idle" in found else None,
        on_ci=form.ci(found["on_ci"]) if "on_ci" in found else None,
        origins=(origin,) if found else (),
    )


def read_setting(trigger: Trigger, value: str, origin: str, warn: Callable[[str], None]) -> Policy:
    """The policy of one git setting: an action's name, or its TOML value on one line. Raises as `read` does."""
    if "\n" in value or "\r" in value:
        raise _wrong(origin, trigger, "a value on one line")
    text = f'"{value}"' if re.fullmatch(r"[a-z_]+", value) else value
    return read(f"{trigger} = {text}\n", origin, warn)


class _Form:
    """One file being read: its name for complaints, and who is told of renamed words."""

    def __init__(self, origin: str, warn: Callable[[str], None]) -> None:
        self._origin = origin
        self._warn = warn

    def rules(self, value: Any) -> tuple[Rule, ...]:
        rows = value if isinstance(value, list) else [value]
        return tuple(self._rule(row, f"on_error[{number}]") for number, row in enumerate(rows))

    def _rule(self, value: Any, where: str) -> Rule:
        match = None
        if isinstance(value, dict) and "match" in value:
            match = self._one_of(value["match"], ERRORS, f"{where}.match")
            value = {key: item for key, item in value.items() if key != "match"}
        return Rule(cast("Status | None", match), self.action(value, "on_error", where))

    def ci(self, table: Any) -> Action:
        where = "on_ci"
        if not isinstance(table, dict):
            raise _wrong(self._origin, where, "a table")
        _known(table, ("run", "when", "log", "action", "message", "attempts"), self._origin, where)
        kind = self._one_of(table.get("action", "resume"), VALID["on_ci"], f"{where}.action")
        when = table.get("when", "failure")
        if not isinstance(when, str) or not when.strip():
            raise _wrong(self._origin, f"{where}.when", 'a conclusion of the CI, such as "failure"')
        if not (run := self._words(table, "run", where)):
            raise _wrong(self._origin, f"{where}.run", "the command that prints the results")
        return Action(
            kind=cast("ActionKind", kind),
            message=self._message(table, where),
            append=True,
            attempts=self._attempts(table, where),
            run=run,
            when=when,
            log=self._words(table, "log", where),
        )

    def action(self, value: Any, trigger: Trigger, where: str = "") -> Action:
        where = where or trigger
        table = {"action": value} if isinstance(value, str) else value
        if not isinstance(table, dict):
            raise _wrong(self._origin, where, "an action's name or a table")
        _known(table, ("action", "message", "append", "attempts", "cooldown", "run"), self._origin, where)
        kind = self._kind(table, trigger, where)
        action = Action(
            kind=kind,
            message=self._message(table, where),
            append=self._append(table, kind, where),
            attempts=self._attempts(table, where),
            cooldown=self._seconds(table, where),
            run=self._words(table, "run", where),
        )
        self._check(action, table, where)
        return action

    def _kind(self, table: dict[str, Any], trigger: Trigger, where: str) -> ActionKind:
        if trigger == "on_idle" and "action" not in table:
            return "nudge"
        word = table.get("action")
        if word == RENAMED:
            self._warn(f"{self._origin}: {where}: `{RENAMED}` is now called `resume`")
            word = "resume"
        reason = _WHY.get((trigger, word)) if isinstance(word, str) else None
        kind = self._one_of(word, VALID[trigger], f"{where}.action", f" ({reason})" if reason else "")
        return cast("ActionKind", kind)

    def _one_of(self, value: Any, words: tuple[str, ...], where: str, reason: str = "") -> str:
        if isinstance(value, str) and value in words:
            return value
        seen = "" if value is None else f", not {value!r}{reason}"
        raise _wrong(self._origin, where, f"one of {', '.join(words)}{seen}")

    def _message(self, table: dict[str, Any], where: str) -> str | None:
        text = table.get("message")
        if text is None or (isinstance(text, str) and text.strip() and "\0" not in text):
            return text
        raise _wrong(self._origin, f"{where}.message", "a text that is not blank")

    def _append(self, table: dict[str, Any], kind: ActionKind, where: str) -> bool:
        value = table.get("append", kind == "nudge")
        if isinstance(value, bool):
            return value
        raise _wrong(self._origin, f"{where}.append", "true or false")

    def _attempts(self, table: dict[str, Any], where: str) -> int | None:
        value = table.get("attempts", 1)
        if value == "forever":
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        raise _wrong(self._origin, f"{where}.attempts", 'a number from 1 on, or "forever"')

    def _seconds(self, table: dict[str, Any], where: str) -> float:
        value = table.get("cooldown", 0)
        seconds = duration(value) if isinstance(value, str) else None
        if seconds is not None:
            return seconds
        if value == 0 and not isinstance(value, bool):
            return 0.0
        raise _wrong(self._origin, f"{where}.cooldown", 'a time such as "30s", "5m" or "1h"')

    def _words(self, table: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if isinstance(value, list) and all(isinstance(word, str) and "\0" not in word for word in value):
            return tuple(value)
        raise _wrong(self._origin, f"{where}.{key}", 'a command as a list of words, such as ["make", "check"]')

    def _check(self, action: Action, table: dict[str, Any], where: str) -> None:
        """A key that its action has no use for is a mistake that must not pass silently."""
        if action.kind == "gate" and not action.run:
            raise _wrong(self._origin, f"{where}.run", "the command of the gate")
        sends = action.kind in ("resume", "nudge", "gate")
        for key, useful in (("message", sends), ("append", sends), ("run", action.kind in ("gate", "escalate"))):
            if key in table and not useful:
                raise _wrong(self._origin, f"{where}.{key}", f"nothing: '{action.kind}' has no use for it")
        if "append" in table and action.message is None:
            raise _wrong(self._origin, f"{where}.message", "the message that is to be appended")
        if action.kind == "nudge" and not action.append:
            raise _wrong(self._origin, f"{where}.append", "true: a nudge continues the session")


def _known(table: dict[str, Any], keys: tuple[str, ...], origin: str, where: str) -> None:
    for key in table:
        if key not in keys:
            raise _wrong(origin, f"{where}.{key}" if where else key, f"one of the keys {', '.join(keys)}")


def _wrong(origin: str, where: str, expected: str) -> UserError:
    place = f"{where}: " if where else ""
    return UserError(
        f"{origin}: {place}expected {expected}",
        code="policy_invalid",
        hints=("fix it, then try it: git agent watch --once",),
    )
