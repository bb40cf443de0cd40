"""A needle is found in the window it begins in, wherever that is cut and whatever bytes stand around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_agent_extractors.haystack import AHEAD, holding

WINDOW = 8


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"needle..--------", [0], id="at the start"),
        pytest.param(b"------needle----", [0], id="across two windows"),
        pytest.param(b"--------needle..", [8], id="at the start of a window"),
        pytest.param(b"----------needle", [8], id="at the end of the file"),
        pytest.param(b"----------needl", [], id="cut off"),
        pytest.param(b"\0\0needle\0needle\0", [0, 8], id="between NULs, twice"),
        pytest.param(b"needlneedle-----", [0], id="after a false start"),
        pytest.param(b"----------------", [], id="nowhere"),
    ],
)
def test_windows_that_hold_a_needle(tmp_path: Path, data: bytes, expected: list[int]) -> None:
    assert held(tmp_path, data, range(0, 16, WINDOW)) == expected


def test_the_order_is_the_callers(tmp_path: Path) -> None:
    count = 3 * AHEAD
    data = b"-needle-" * count
    backwards = range(0, WINDOW * count, WINDOW)[::-1]
    assert held(tmp_path, data, backwards) == list(backwards)


def held(tmp_path: Path, data: bytes, starts: range) -> list[int]:
    path = tmp_path / "stdout"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        return list(holding(fd, b"needle", starts, WINDOW))
    finally:
        os.close(fd)
