"""What it costs to keep an engine's output: a run against `cat` from the same pipe to a file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import repository
import transcript
from measure import NO_LIMITS, Case, Limits, Row, Sample, interleaved, process, row

LIMITS = {"cat": NO_LIMITS, "capture": Limits(ratio=1.5, mib=40), "git-agent start": Limits(mib=40)}


def measure(folder: Path, rounds: int, quick: bool) -> list[Row]:
    """`capture` is the supervision alone. `git agent start` also reads what it kept, to judge how the engine ended."""
    size = transcript.Size(4 * transcript.MIB, transcript.MIB) if quick else transcript.Size()
    made = transcript.write(folder / "transcript", size)
    transcript.place(made, "first")
    kept, errors = folder / "kept", folder / "errors"
    cat = ("/bin/sh", "-c", 'cat "$0" | cat > "$1"', made.path, str(kept))
    capture = (sys.executable, str(Path(__file__).with_name("capturing.py")), made.path, str(kept), str(errors))
    env = {"PATH": os.defpath}

    def clear() -> None:
        kept.unlink(missing_ok=True)
        errors.unlink(missing_ok=True)

    def whole(run: Callable[[], Sample]) -> Sample:
        sample = run()
        if kept.stat().st_size != os.stat(made.path).st_size:
            raise RuntimeError(f"{kept} is not the whole output")
        return sample

    cases = [
        Case("cat", lambda: whole(lambda: process(cat, "/", env)), clear),
        Case("capture", lambda: whole(lambda: process(capture, "/", env)), clear),
        _start(folder, made.path),
    ]
    samples = interleaved(cases, rounds)
    yard = ("cat", samples["cat"])
    return [row(name, samples[name], None if name == "cat" else yard, limits) for name, limits in LIMITS.items()]


def _start(folder: Path, output: str) -> Case:
    """A whole `git-agent start`; what it passes on of the engine's output is thrown away."""
    site = repository.build(folder / "site", repository.Size(3, 10, 2, 1))
    engine = folder / "site" / "bin" / "codex"
    version = repository.VERSIONS["codex"]
    engine.write_text(f"#!/bin/sh\n[ \"$1\" != --version ] || exec echo '{version}'\nexec cat '{output}'\n")
    argv = (repository.program(site.env, "git-agent"), "start", "-e", "codex", "write the parser")
    tree = site.trees["feature/codex"]
    return Case("git-agent start", lambda: process(argv, tree, site.env), lambda: shutil.rmtree(site.layout.root))
