"""The form of what a profile says of reading an engine: its session, its events, its errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

from git_agent_extractors.declared import Condition, DeclaredStatus, EventRule, SessionRule
from git_agent_extractors.model import Source, Status
from git_agent_extractors.profile import ErrorRule
from git_agent_runner.engines.added import form, patterns

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

statuses = form.one_of(get_args(Status))
_streams: tuple[Source, ...] = ("stderr", "stdout")
_KEYS = re.compile(r"[^.\s]+(\.[^.\s]+)*")
_TYPE = re.compile(r"[ !#-\[\]-~]+")
_text = form.word("a text")

path = form.then(
    form.word("keys with dots between, such as message.role or content.*.text", _KEYS.fullmatch),
    lambda text: tuple(text.split(".")),
)
event_type = form.word("an event type in plain ASCII", _TYPE.fullmatch)
_pattern = form.then(form.pattern, re.compile)
_conditions = form.then(
    form.keyed(path, form.one_or_more(form.scalar)),
    lambda found: tuple(Condition(path, values) for path, values in found.items()),
)


def _id_fault(text: str) -> str | None:
    """A shape also decides what may be on a command line."""
    return "a shape that no flag has" if re.compile(text).fullmatch("--last") else None


_shape = form.then(form.checked(form.pattern, _id_fault), re.compile)


def _session(field: str, shape: re.Pattern[str], **where: Any) -> SessionRule:
    first = where.pop("which", "last") == "first"
    block = where.get("lines", ())
    return SessionRule(field, shape, first=first, begins=patterns.beginning(block[0].pattern) if block else "", **where)


def _session_fault(rule: SessionRule) -> str | None:
    if bool(rule.event) == bool(rule.lines) or bool(rule.event) != bool(rule.path):
        return "either 'event' and 'path', or 'lines'"
    if not rule.lines:
        return None
    if sum(line.groups for line in rule.lines) != 1:
        return "lines with one group (...) among them, around the id"
    return None if len(rule.begins) >= 4 else "a first line that begins with at least four fixed characters"


session = form.checked(
    form.table(
        _session,
        {"field": _text, "shape": _shape},
        {
            "event": form.one_or_more(event_type),
            "path": path,
            "lines": form.listed(_pattern),
            "stream": form.one_of(_streams),
            "which": form.one_of(("first", "last")),
        },
    ),
    _session_fault,
)


# What each kind of event tells, beside `when`, `each` and `where`; the first ones must be there.
_TOLD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "message": (("text",), ("delta",)),
    "reasoning": (("text",), ()),
    "tool_call": (("name",), ("text",)),
    "tool_result": (("text",), ("name", "failed")),
    "error": (("text",), ("status", "fatal")),
    "usage": ((), ("numbers", "model")),
    "end": (("status",), ("text",)),
}
_ALWAYS = ("gives", "when", "each", "where")


def _event_fault(rule: EventRule) -> str | None:
    needed, allowed = _TOLD[rule.gives]
    given = {key for key, value in rule._asdict().items() if value != EventRule._field_defaults.get(key)}
    if missing := [key for key in needed if key not in given]:
        return f"the key '{missing[0]}' for {rule.gives}"
    if strange := sorted(given - {*_ALWAYS, *needed, *allowed}):
        return f"only {', '.join((*needed, *allowed))} for {rule.gives}, not {strange[0]}"
    if rule.where and rule.each is None:
        return "'where' only beside 'each': it is asked of each item"
    return None


_verdict = form.table(DeclaredStatus, {"path": path, "values": form.keyed(_text, statuses)}, {})


def _status(node: Node, where: str) -> Status | DeclaredStatus:
    found: Status | DeclaredStatus = (_verdict if form.kind(node) == "map" else statuses)(node, where)
    return found


event = form.checked(
    form.table(
        EventRule,
        {"gives": form.one_of(_TOLD)},
        {
            "when": _conditions,
            "each": path,
            "where": _conditions,
            "text": path,
            "name": path,
            "failed": _conditions,
            "model": path,
            "numbers": form.keyed(form.one_of(("input_tokens", "output_tokens", "cost_usd")), path),
            "status": _status,
            "delta": form.flag,
            "fatal": form.flag,
        },
    ),
    _event_fault,
)

error = form.table(
    lambda line, **more: ErrorRule(pattern=line, **more),
    {"line": _pattern},
    {"status": statuses, "fatal": form.flag, "sure": form.flag},
)

exit_status = form.then(form.word("an exit status from 1 to 255", tuple(map(str, range(1, 256))).__contains__), int)
