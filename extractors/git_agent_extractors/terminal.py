"""Taking a terminal's control sequences out of a line, so that what the engine printed remains."""

from __future__ import annotations

import re

# 8-bit C1 controls come as UTF-8 (C2 80..9F) or as the bare byte. A bare 80..9F that follows another high byte is
# the tail of a character, not a control.
_BARE = rb"(?<![\x80-\xff])"
_CSI = rb"(?:\x1b\[|\xc2\x9b|" + _BARE + rb"\x9b)"
_END = rb"(?:\x07|\x1b\\|\xc2\x9c|\x9c)"

# To the first column, as CR goes there; and elsewhere: two words that a terminal shows apart must not become one.
_RETURNS = re.compile(_CSI + rb"(?:[01]?G|[0-9]*[EF]|(?:[0-9]*(?:;[01]?)?)[Hf])")
_MOVES = re.compile(_CSI + rb"[0-9;]*[A-Hdf]")
_SEQUENCES = re.compile(
    _CSI
    + rb"[0-?]*[ -/]*[@-~]"
    # OSC, DCS, SOS, PM, APC: a string up to BEL or ST. Without an end only its introducer is removed.
    + rb"|(?:\x1b[\]PX^_]|\xc2[\x90\x98\x9d-\x9f]|"
    + _BARE
    + rb"[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*"
    + _END
    + rb"|\x1b[ -/]*[0-~]|\x1b"
    + rb"|\xc2[\x80-\x9f]|"
    + _BARE
    + rb"[\x80-\x9f]"
    + rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\A\xef\xbb\xbf"
)
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|" + _BARE + rb"[\x80-\x9f]|\A\xef\xbb\xbf")


def has_controls(line: bytes) -> bool:
    """Is there anything in this line that `clean` would change, a carriage return included?"""
    return _CONTROL.search(line) is not None


def clean(line: bytes) -> bytes:
    """The line without control sequences, control characters and byte order mark; tabs and CR stay.

    A movement to the first column becomes a CR, another one a blank.
    """
    return _SEQUENCES.sub(b"", _MOVES.sub(b" ", _RETURNS.sub(b"\r", line)))
