"""JSON as engines print it, damaged bytes and lone surrogates included."""

from __future__ import annotations

import json
from typing import Any

import orjson


def loads(text: bytes) -> Any:
    """The JSON value of `text`; invalid UTF-8 and lone surrogates become U+FFFD. Raises ValueError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return _scrub(json.loads(text.decode("utf-8", "replace")))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _scrub(value: Any) -> Any:
    """The value with every lone surrogate replaced: such text could not be written out again."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_scrub(item) for item in value]
    if isinstance(value, dict):
        return {_scrub(key): _scrub(item) for key, item in value.items()}
    return value
