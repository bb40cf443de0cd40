"""A file without a name, for what another process reads or writes: nobody can open it, and nothing is left of it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO


def nameless(data: bytes) -> BinaryIO:
    """It holds these bytes, and stands at its beginning. Raises OSError."""
    if sys.platform == "linux":
        file: BinaryIO = open(os.memfd_create("git-agent"), "w+b")  # noqa: SIM115  the caller closes it
    else:
        from tempfile import TemporaryFile  # costs 5 ms

        file = TemporaryFile()  # noqa: SIM115  the caller closes it
    try:
        os.fchmod(file.fileno(), 0o600)  # one in memory is made for everybody
        file.write(data)
        file.seek(0)
    except OSError:
        with suppress(OSError):
            file.close()
        raise
    return file
