"""Where hook managers write the unstaged changes that they put aside while their hooks run."""

from __future__ import annotations

import os
from collections.abc import Mapping


def patch_folders(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Where pre-commit and prek put what they put aside."""
    home = environ.get("HOME", "")
    cache = environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
    return (
        ("pre-commit", environ.get("PRE_COMMIT_HOME") or f"{cache}/pre-commit"),
        ("prek", f"{environ.get('PREK_HOME') or f'{cache}/prek'}/patches"),
    )


def pid_of(patch: str) -> int | None:
    """`patch1795931589-26277` of pre-commit, `1795931649416-580.patch` of prek."""
    name = os.path.basename(patch).removeprefix("patch").removesuffix(".patch")
    stamp, _, pid = name.partition("-")
    return int(pid) if stamp.isdigit() and pid.isdigit() else None
