"""Text made safe to print, and words made safe for a shell. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# What a terminal acts on, what turns the reading direction, and what takes no place of its own.
_UNSEEN = (
    "\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff"
)
# A newline is shown like the rest; in words for a shell, within quotes, it is only that.
CONTROL = re.compile(f"[\x00-\x1f{_UNSEEN}]")
_RAW = re.compile(f"([\x01-\x09\x0b-\x1f{_UNSEEN}]+)")


def shown(text: str) -> str:
    """`text` on one line with its control characters visible: ESC is ^[, others \\xNN or \\uNNNN."""
    return CONTROL.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20 or code == 0x7F:
        return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code, f"^{chr(code ^ 0x40)}")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def command_line(argv: Sequence[str]) -> str:
    """argv as a person can paste it into a shell."""
    return " ".join(map(quote, argv))


def quote(word: str) -> str:
    """One word for any POSIX shell. What a terminal would act on is spelled out for printf."""
    parts = enumerate(_RAW.split(word))
    return "".join(_octal(part) if odd % 2 else shlex.quote(part) for odd, part in parts if part) or "''"


def _octal(text: str) -> str:
    digits = "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogateescape"))
    return f"\"$(printf '{digits}')\""
