"""Events as a person reads them in a terminal."""

from __future__ import annotations

import pytest

from git_agent_extractors.model import Event
from git_agent_runner.console.render import Renderer, render


@pytest.mark.parametrize(
    ("event", "text"),
    [
        pytest.param(Event("message", "One.\n\n  two\n"), "One.\n\n  two", id="message as it is"),
        pytest.param(Event("message", "w" * 50), "w" * 50, id="message is not cut"),
        pytest.param(Event("reasoning", "hm"), "hm", id="reasoning"),
        pytest.param(Event("tool_call", "ls -l", "Bash"), "$ ls -l", id="command"),
        pytest.param(Event("tool_call", "cat <<E\nx\nE", "shell"), "$ cat <<E …", id="command of many lines"),
        pytest.param(Event("tool_call", "w" * 50, "bash"), "$ " + "w" * 17 + "…", id="command is cut"),
        pytest.param(Event("tool_call", "a.py", "Read"), "$ Read a.py", id="tool"),
        pytest.param(Event("tool_result", "a\nb\n"), "  a\n  b", id="result"),
        pytest.param(
            Event("tool_result", "\n".join("123456789")),
            "  1\n  2\n  3\n  4\n  5\n  6\n  … 3 more lines",
            id="long result",
        ),
        pytest.param(Event("tool_result", "w" * 50), "  " + "w" * 17 + "…", id="wide result"),
        pytest.param(Event("tool_result", " \n"), "", id="empty result"),
        pytest.param(Event("error", "429 slow down"), "error: 429 slow down", id="error"),
        pytest.param(Event("error", data={"status": "network"}), "error: network", id="error without words"),
        pytest.param(Event("error", "slow", data={"fatal": False}), "warning: slow", id="error that ends nothing"),
        pytest.param(Event("end", data={"status": "completed"}), "", id="good end"),
        pytest.param(Event("end", "no key", data={"status": "auth_failed"}), "auth_failed: no key", id="bad end"),
        pytest.param(
            Event("usage", data={"input_tokens": 12345, "output_tokens": 5, "cost_usd": 0.25}),
            "12,345 tokens in, 5 out, $0.2500",
            id="usage",
        ),
        pytest.param(Event("usage", data={"model": "opus"}), "", id="model"),
        pytest.param(Event("session", "abc", data={"value": "abc"}), "", id="session"),
        pytest.param(Event("unknown", name="new/thing", data={"x": 1}), "", id="unknown"),
    ],
)
def test_plain(event: Event, text: str) -> None:
    assert render(event, colour=False, width=20) == text


@pytest.mark.parametrize("kind", ["message", "reasoning", "tool_call", "tool_result", "error", "end"])
@pytest.mark.parametrize(
    ("hostile", "seen"),
    [
        pytest.param("\x1b[2J", "^[[2J", id="escape"),
        pytest.param("\x9b2J", "\\x9b2J", id="C1"),
        pytest.param("a\rb", "a\\rb", id="carriage return"),
        pytest.param("\x07\x08\x7f", "^G^H^?", id="bell, backspace, delete"),
        pytest.param("\u202eevil", "\\u202eevil", id="turned around"),
    ],
)
def test_controls_are_shown_never_sent(kind: str, hostile: str, seen: str) -> None:
    event = Event(kind, hostile, "bash")  # type: ignore[arg-type]  # kinds are literals, parametrized here
    assert seen in render(event, colour=False, width=80)
    assert hostile not in render(event, colour=True, width=80)


def test_tabs_and_windows_line_ends_are_layout() -> None:
    assert render(Event("message", "if x:\r\n\tgo()"), colour=False, width=80) == "if x:\n    go()"


@pytest.mark.parametrize(
    ("event", "style"),
    [
        pytest.param(Event("message", "hi"), "", id="message"),
        pytest.param(Event("reasoning", "hm"), "\x1b[2m", id="reasoning is dim"),
        pytest.param(Event("tool_result", "x"), "\x1b[2m", id="result is dim"),
        pytest.param(Event("tool_result", "x", data={"failed": True}), "\x1b[31m", id="failed result is red"),
        pytest.param(Event("error", "x"), "\x1b[31m", id="error is red"),
        pytest.param(Event("error", "x", data={"fatal": False}), "\x1b[33m", id="warning is yellow"),
    ],
)
def test_colours_when_asked(event: Event, style: str) -> None:
    plain = render(event, colour=False, width=80)
    assert render(event, colour=True, width=80) == (f"{style}{plain}\x1b[0m" if style else plain)


def test_a_style_is_on_every_line() -> None:
    """Faults B17: `less` ends a style with the line, so that a result was dim on its first line only."""
    shown = render(Event("tool_result", "one\ntwo"), colour=True, width=80)
    assert shown == "\x1b[2m  one\x1b[0m\n\x1b[2m  two\x1b[0m"


def test_a_message_in_pieces_is_one_line() -> None:
    """As gemini/0.61.0/start-streamjson prints it."""
    renderer = Renderer(colour=False, width=80)
    pieces = [Event("message", text, data={"delta": True}) for text in ("Hel", "lo \x1b", "\nworld")]
    written = [renderer.text(event) for event in (*pieces, Event("session"), Event("tool_call", "ls", "bash"))]
    assert "".join(written) + renderer.close() == "Hello ^[\nworld\n$ ls\n"


def test_an_unfinished_message_is_completed() -> None:
    renderer = Renderer(colour=False, width=80)
    assert renderer.text(Event("message", "bye", data={"delta": True})) + renderer.close() == "bye\n"
    assert renderer.close() == ""


def test_an_end_does_not_repeat_its_error() -> None:
    """As codex/0.171.0/14a-ratelimit prints it: `error`, then `turn.failed` with the same words."""
    renderer = Renderer(colour=False, width=80)
    ended = Event("end", "429 slow down", data={"status": "rate_limited"})
    assert (
        renderer.text(Event("error", "429 slow down")) + renderer.text(ended) == "error: 429 slow down\nrate_limited\n"
    )
    assert renderer.text(ended._replace(text="no")) == "rate_limited: no\n"
    assert (renderer.text(Event("message", "429 slow down")), renderer.error) == ("", "429 slow down")
    assert (renderer.text(Event("message", "ok")), renderer.error) == ("ok\n", "")
