"""Someone at a terminal, in which one command at a time runs."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
import time

from support.cli import PROGRAM, Cli
from support.waiting import PATIENCE


class Person:
    """Someone at a terminal, in which one command at a time runs."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.eyes, self.terminal = pty.openpty()
        self.modes = termios.tcgetattr(self.terminal)
        self.seen = ""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *words: str, **environ: str) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.cli.repo.path,
            env=self.cli.environ(TERM="xterm", NO_COLOR="1", **environ),
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            start_new_session=True,
        )
        return self.process

    def look(self, until: str) -> None:
        """Wait till that is seen. Where the command has ended without it, nothing is waited for."""
        deadline = time.monotonic() + PATIENCE
        while until not in self.seen:
            ended = self.process is None or self.process.poll() is not None
            if select.select([self.eyes], [], [], 0.1)[0]:
                self.seen += os.read(self.eyes, 65536).decode(errors="replace")
            else:
                assert not ended, f"ended without {until!r}: {self.seen}"
            assert time.monotonic() < deadline, self.seen

    def type(self, keys: str) -> None:
        os.write(self.eyes, keys.encode())

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Its exit status, with all that it printed seen."""
        while process.poll() is None or select.select([self.eyes], [], [], 0.1)[0]:
            if select.select([self.eyes], [], [], 0.1)[0]:
                self.seen += os.read(self.eyes, 65536).decode(errors="replace")
        return process.returncode
