"""Six short walks of `make chaos`, always the same ones. Faults A15 to A18, A20."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.chaos import Walk, ordinary

STEPS = 6


@pytest.mark.parametrize("seed", range(1, 7))
def test_walk(seed: int, tmp_path: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = ordinary(dict(os.environ), isolated)
    for name in os.environ.keys() - environ.keys():
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    walk = Walk(seed, tmp_path, isolated)
    for _ in range(STEPS):
        walk.step()
    assert walk.done
