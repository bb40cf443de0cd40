"""Somebody who goes on typing, every 50 ms, into tracked, staged, unstaged and new files."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

PAUSE = 0.05  # seconds; nothing is decided by it


class Typist:
    """Adds lines to the files as long as it is entered."""

    def __init__(self, top: Path, *names: str) -> None:
        self.typed: dict[Path, list[str]] = {top / name: [] for name in names}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._type, daemon=True)

    def __enter__(self) -> Typist:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _type(self) -> None:
        number = 0
        while not self._over.wait(PAUSE):
            number += 1
            for path, lines in self.typed.items():
                line = f"typed {number}\n"
                with path.open("a") as file:
                    file.write(line)
                lines.append(line)

    def lost(self) -> dict[str, list[str]]:
        """What is not in its file, by file."""
        found = {path: path.read_text().splitlines(keepends=True) if path.exists() else [] for path in self.typed}
        gone = {path.name: [one for one in lines if one not in found[path]] for path, lines in self.typed.items()}
        return {name: lines for name, lines in gone.items() if lines}
