"""Find the session in one transcript, and read it plainly, in turns: `finding.py TRANSCRIPT ROUNDS`.

Prints JSON: `{"found": session or null, "find": [[wall, cpu]], "read": [[wall, cpu]], "peak": bytes}`, in seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from git_agent_extractors.find import find_session

BUFFER = 1 << 20


def main(path: Path, rounds: int) -> None:
    found, _ = find_session("codex", {"stdout": path})
    read(path)
    times = [(timed(lambda: find_session("codex", {"stdout": path})), timed(lambda: read(path))) for _ in range(rounds)]
    finds, reads = zip(*times, strict=True)
    json.dump({"found": found.value, "find": finds, "read": reads, "peak": peak()}, sys.stdout)


def read(path: Path) -> None:
    buffer = bytearray(BUFFER)
    fd = os.open(path, os.O_RDONLY)
    while os.readv(fd, [buffer]):
        pass
    os.close(fd)


def timed(act: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - wall, time.process_time() - cpu


def peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
