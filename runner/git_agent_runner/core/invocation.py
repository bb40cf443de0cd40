"""One engine process to be started: arguments, message, directory. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Invocation(NamedTuple):
    """Everything needed to spawn one engine process. `stdin` None is /dev/null (the terminal if interactive).

    `env` are changes to the user's environment; a value of None removes the name.
    """

    argv: tuple[str, ...]
    stdin: bytes | None
    cwd: str
    env: tuple[tuple[str, str | None], ...] = ()
