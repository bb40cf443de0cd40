"""An agent's messages and tool calls as plain lines for a terminal; its control characters are shown, not sent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from git_agent_runner.core.text import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from git_agent_extractors.model import Event

RESULT_LINES = 6
FULL = sys.maxsize  # the width of a reader who wants all of it
_SHELLS = frozenset({"shell", "bash", "Bash", "run_shell_command"})
_DIM, _RED, _YELLOW, _CYAN, _PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[0m"


class Renderer:
    """Turns the events of one attempt into text. It joins a message that comes in pieces (gemini's `delta`), and
    prints once what an engine reports twice: an error, then a message (qwen) or an end with the same words (codex,
    claude). `error` is the error that was shown last, if nothing came after it.
    """

    def __init__(self, *, colour: bool, width: int) -> None:
        self._colour = colour
        self._width = width
        self._unfinished = False
        self.error = ""

    def text(self, event: Event) -> str:
        """The text to write: whole lines, or a piece of one that later text completes."""
        if event.kind == "message" and event.data.get("delta"):
            self._unfinished = not event.text.endswith("\n") if event.text else self._unfinished
            return "\n".join(map(_visible, event.text.split("\n")))
        if event.kind in ("message", "end") and event.text == self.error:
            event = event._replace(text="")
        lines = render(event, colour=self._colour, width=self._width)
        if not lines:
            return ""
        if event.kind not in ("usage", "end"):
            self.error = event.text if event.kind == "error" else ""
        start, self._unfinished = "\n" if self._unfinished else "", False
        return f"{start}{lines}\n"

    def close(self) -> str:
        """What completes the last line."""
        end, self._unfinished = "\n" if self._unfinished else "", False
        return end


def render(event: Event, *, colour: bool, width: int) -> str:
    """One event as lines joined by newlines, without one at the end; empty when there is nothing to see.

    `width` is the terminal's, in columns: commands and results are cut there, what the agent says is not.
    """
    show = _SHOW.get(event.kind)
    style, text = show(event, width) if show else ("", "")
    if not (colour and style and text):
        return text
    return "\n".join(f"{style}{line}{_PLAIN}" for line in text.split("\n"))  # less ends a style with the line


def _message(event: Event, _: int) -> tuple[str, str]:
    """The person's words in a session, formatted as the message of an attempt is."""
    said = _whole(event.text)
    return "", "\n".join(f"> {line}" for line in said.split("\n")) if event.data.get("role") == "user" else said


def _reasoning(event: Event, _: int) -> tuple[str, str]:
    return _DIM, _whole(event.text)


def _tool_call(event: Event, width: int) -> tuple[str, str]:
    words = event.text if event.name in _SHELLS else f"{event.name} {event.text}"
    if width == FULL:
        return _CYAN, _whole(f"$ {words.strip()}")
    first, *more = words.strip().split("\n")
    return _CYAN, _cut(f"$ {first}{' …' if more else ''}", width)


def _tool_result(event: Event, width: int) -> tuple[str, str]:
    lines = event.text.rstrip().split("\n")
    if width == FULL:
        return _RED if event.data.get("failed") else _DIM, "\n".join(f"  {_visible(line)}" for line in lines)
    more = [f"… {len(lines) - RESULT_LINES} more lines"] if len(lines) > RESULT_LINES else []
    text = "\n".join(_cut(f"  {line}", width) for line in lines[:RESULT_LINES] + more)
    return _RED if event.data.get("failed") else _DIM, text if event.text.strip() else ""


def _refused(event: Event, width: int) -> tuple[str, str]:
    words = f"refused: {event.name} {event.text}".rstrip(": ")
    return _YELLOW, _whole(words) if width == FULL else _cut(words.split("\n")[0], width)


def _error(event: Event, _: int) -> tuple[str, str]:
    goes_on = event.data.get("fatal") is False
    words = event.text or event.data.get("status", "unknown")
    return (_YELLOW, _whole(f"warning: {words}")) if goes_on else (_RED, _whole(f"error: {words}"))


def _end(event: Event, _: int) -> tuple[str, str]:
    status = event.data.get("status")
    return _RED, "" if status == "completed" else _whole(f"{status}: {event.text}" if event.text else f"{status}")


def _usage(event: Event, _: int) -> tuple[str, str]:
    known = [form.format(event.data[key]) for key, form in _USAGE.items() if event.data.get(key)]
    return _DIM, ", ".join(known)


def _whole(text: str) -> str:
    return "\n".join(map(_visible, text.rstrip("\n").split("\n")))


def _cut(line: str, width: int) -> str:
    seen = _visible(line)
    return seen if len(seen) <= width else seen[: max(width - 1, 0)] + "…"


def _visible(line: str) -> str:
    """A tab is layout, a carriage return before a newline belongs to it; every other control character is shown."""
    return shown(line.removesuffix("\r").expandtabs(4))


_USAGE = {"input_tokens": "{:,} tokens in", "output_tokens": "{:,} out", "cost_usd": "${:.4f}"}
_SHOW: dict[str, Callable[[Event, int], tuple[str, str]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "refused": _refused,
    "error": _error,
    "end": _end,
    "usage": _usage,
}
