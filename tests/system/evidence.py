"""What a failed system test shows: the engine's version, the last that it printed, and the last that it asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from system.support import World

OUTPUT = 2000  # characters of each file
ATTEMPTS = 3
REQUESTS = 3


def evidence(world: World, printed: str) -> str:
    """Sections of plain text; files are those of the newest attempts in the world's repositories."""
    lines = [f"{world.pin}, which prints '{printed}'"]
    for file in _outputs(world):
        text = file.read_bytes().decode(errors="replace")
        lines += [f"--- {file}", text[-OUTPUT:].rstrip("\n") or "(empty)"]
    asked = world.server.requests()
    lines.append(f"--- {len(asked)} requests at the model server, the last of them:")
    lines += [repr(entry)[:OUTPUT] for entry in asked[-REQUESTS:]]
    return "\n".join(lines)


def _outputs(world: World) -> Iterator[Path]:
    attempts = world.repo.parent.rglob("agent/runs/*/attempts/*")
    newest = sorted(attempts, key=lambda place: place.stat().st_mtime)[-ATTEMPTS:]
    for place in newest:
        yield from (file for name in ("pty-output", "stdout", "stderr") if (file := place / name).is_file())
