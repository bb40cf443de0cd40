"""Times as they stand in files: our own, and engines'."""

from __future__ import annotations


def moment(text: object) -> float | None:
    """An ISO 8601 time, in seconds since the epoch; None for anything else."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None
