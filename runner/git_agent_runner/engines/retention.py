"""When engines delete sessions by themselves: by the time at which a session's file was last written.

Read from the engines' own settings, never written.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from git_agent_extractors import ordinary
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, StoreQuery, Version

_DAY = 86400.0
_DEFAULT_DAYS = 30  # of both: "Number of days to retain chat transcripts … (default: 30)", "30d"
_GEMINI_UNITS = {"h": 3600.0, "d": _DAY, "w": 7 * _DAY, "m": 30 * _DAY}
# gemini's settingsSchema: 0.20.2 keeps all unless told otherwise, 0.36.0 has `enabled: true, maxAge: "30d"`.
_GEMINI_DELETES: Version = (0, 36)


def claude(query: StoreQuery, located: Located) -> float | None:
    """`cleanupPeriodDays` of the person's settings or the project's. 0 keeps all where it is allowed (1.0.128)."""
    own = files.home(query.env, "CLAUDE_CONFIG_DIR", ".claude")
    places = (own, os.path.join(query.cwd, ".claude"))
    names = [os.path.join(place, name) for place in places for name in ("settings.json", "settings.local.json")]
    days: float = _DEFAULT_DAYS
    for name in names:
        value = _read(query, name).get("cleanupPeriodDays")
        days = value if isinstance(value, int) else days
    return _written(located, days * _DAY) if days > 0 else None


def gemini(query: StoreQuery, located: Located) -> float | None:
    """`general.sessionRetention`. From 0.47 it may delete a resumed session long before (session-loss)."""
    home = files.home(query.env, "GEMINI_CLI_HOME" if query.version >= (0, 25) else "HOME", "")
    general = _read(query, os.path.join(home, ".gemini", "settings.json")).get("general")
    told = general.get("sessionRetention") if isinstance(general, dict) else None
    retention = told if isinstance(told, dict) else {}
    if not retention.get("enabled", query.version >= _GEMINI_DELETES):
        return None
    found = re.fullmatch(r"(\d{1,6})([hdwm])", str(retention.get("maxAge", f"{_DEFAULT_DAYS}d")))
    return _written(located, int(found[1]) * _GEMINI_UNITS[found[2]]) if found else None


def _written(located: Located, period: float) -> float | None:
    """Seconds since the epoch at which the session's file is as old as that; None for one that is not there."""
    try:
        return os.stat(located.path).st_mtime + period if located.path else None
    except OSError:
        return None


def _read(query: StoreQuery, path: str) -> dict[str, Any]:
    """A settings file; {} for one that is not there, or that the engine would not read either."""
    return files.once(query, path, lambda: _settings(path))


def _settings(path: str) -> dict[str, Any]:
    try:
        found = json.loads(ordinary.whole(path, 1 << 20))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
