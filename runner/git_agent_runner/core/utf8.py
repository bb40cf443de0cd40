"""The program in UTF-8: what git names is bytes, and nearly always UTF-8."""

import os
import sys


def in_utf8() -> None:
    """Start the program again in UTF-8, where the locale has another encoding."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, (sys.executable, "-X", "utf8", *sys.orig_argv[1:]))  # noqa: S606  no shell is wanted
