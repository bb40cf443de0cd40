"""Times and durations: in our files, in engines' files, and as people type them."""

from __future__ import annotations

import os
import re

_END = 253_402_300_800  # seconds since the epoch: the year 10,000, which no clock and no date has


def moment(text: object) -> float | None:
    """An ISO 8601 time, in seconds since the epoch; None for anything else."""
    from datetime import datetime

    try:
        return known(datetime.fromisoformat(text).timestamp()) if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None


def known(seconds: float) -> float | None:
    """The time, if it is a plausible one: since there are computers, and convertible to a date."""
    return seconds if 0 <= seconds < _END else None


def milliseconds(value: object) -> float | None:
    """A count of milliseconds since the epoch, in seconds; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _END * 1000:
        return None
    return value / 1000


_WRITTEN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def told(text: str | None) -> str | None:
    """A time as `--json` prints it, whatever a person may have written into a record; None for no time."""
    if text and _WRITTEN.fullmatch(text):
        return text
    from datetime import UTC, datetime

    try:
        then = datetime.fromisoformat(text or "").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return f"{then.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ms|s|m|h|d|w|)")
_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def duration(text: str) -> float | None:
    """Seconds of `90`, `90s`, `5m`, `1.5h`, `30d` or `8w`; None for anything else."""
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNITS[found[2]] if found else None


def age(text: str, now: float) -> str:
    """`3 min ago`, from a record's time; the text itself if it is not a time."""
    then = moment(text)
    if then is None:
        return text
    seconds = now - then
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{max(0, int(seconds))} s ago"


def began(pid: int) -> float:
    """When the process started, in seconds since the epoch, as psutil reports it. Raises psutil.Error if there is no
    such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file, open("/proc/stat", "rb") as machine:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
            booted = next(int(line.split()[1]) for line in machine if line.startswith(b"btime "))
        return ticks / os.sysconf("SC_CLK_TCK") + booted
    except (OSError, ValueError, IndexError, StopIteration):
        import psutil  # costs 15 ms

        return psutil.Process(pid).create_time()
