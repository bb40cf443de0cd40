"""What is on in a terminal, from what an engine writes: only that is switched off, and it can be brought back."""

from __future__ import annotations

import pytest

from git_agent_runner.process.screen import Screen

CLEAN = b"\x1b[0m\x1b[J"


def after(*pieces: bytes) -> Screen:
    screen = Screen()
    for piece in pieces:
        screen.feed(piece)
    return screen


@pytest.mark.parametrize(
    ("written", "off"),
    [
        pytest.param(b"plain text\n", b"", id="text"),
        pytest.param(b"\x1b[?1049h\x1b[?1049l", b"", id="the other screen, left again (faults G4)"),
        pytest.param(b"\x1b[?1049hui", b"\x1b[?1049l", id="the other screen (faults G3)"),
        pytest.param(b"\x1b[?25l", b"\x1b[?25h", id="a hidden cursor"),
        pytest.param(b"\x1b[?1000;1006h\x1b[?1000l", b"\x1b[?1006l", id="two modes in one, one of them undone"),
        pytest.param(b"\x1b[>1u\x1b[>5u\x1b[<u", b"\x1b[<1u", id="kitty's keys"),
        pytest.param(b"\x1b[?1049h\x1b[>1u", b"\x1b[<1u\x1b[?1049l", id="kitty's keys of the other screen"),
        pytest.param(b"\x1b[>4;2m", b"\x1b[>4m", id="modifyOtherKeys"),
        pytest.param(b"\x1b[31mred\x1b[0m", b"", id="a colour, ended"),
        pytest.param(b"\x1b[31mred", b"\x1b[0m", id="a colour"),
        pytest.param(b"\x1b[2;9r", b"\x1b7\x1b[r\x1b8", id="a scroll region, without moving the cursor"),
        pytest.param(b"\x1b=", b"\x1b>", id="keypad"),
        pytest.param(b"\x1b[?1049h\x1b[?1003h\x1bc", b"", id="all forgotten by a reset"),
        pytest.param(b"\x1b[?99999999h\x1b[?;h\xff\x1b[" + b"1" * 5000, b"", id="nonsense"),
    ],
)
def test_off(written: bytes, off: bytes) -> None:
    assert after(written).off() == off
    assert after(*(bytes([byte]) for byte in written)).off() == off


def test_on_is_what_was_switched_off() -> None:
    written = b"\x1b[>1u\x1b[?1049h\x1b[>5u\x1b[?25l\x1b[?2004h\x1b="
    assert after(after(written).on()).off() == after(written).off()


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        pytest.param(b"bye\r\n", b"", id="text that ended"),
        pytest.param(b"bye", b"\r\n", id="text that did not"),
        pytest.param(b"\x1b[1mbye\x1b[0m\r\n", CLEAN, id="drawn, and ended"),
        pytest.param(b"one\r\ntwo\r\n\x1b[1Afooter", b"\r\n" + CLEAN, id="above what is drawn (faults G4)"),
        pytest.param(b"one\r\n\x1b[?1049hfull\x1b[2;2H", CLEAN, id="as it was before the other screen"),
    ],
)
def test_the_summary_begins_on_a_line_of_its_own(written: bytes, clean: bytes) -> None:
    assert after(written).clean_line() == clean
