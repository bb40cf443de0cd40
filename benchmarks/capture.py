"""What it costs to keep an engine's output: a run against `cat` from the same pipe to a file."""

from __future__ import annotations

import os
import shutil
import sys
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
    kept = folder / "kept"
    cat = ("/bin/sh", "-c", 'cat "$0" | cat > "$1"/stdout', made.path, str(kept))
    capture = (sys.executable, str(Path(__file__).with_name("capturing.py")), made.path, str(kept))
    site = _site(folder / "site", made.path)
    start = (repository.program(site.env, "git-agent"), "start", "-e", "codex", "write the parser")
    runs = Path(site.layout.runs_dir)

    def keeping(argv: tuple[str, ...], cwd: str, place: Path) -> Sample:
        """What was kept is removed at once: the kernel would write it to the disk during the next ones."""
        place.mkdir(parents=True)
        sample = process(argv, cwd, site.env)
        sizes = [found.stat().st_size for found in place.rglob("stdout")]
        shutil.rmtree(place)
        if sizes != [os.stat(made.path).st_size]:
            raise RuntimeError(f"{' '.join(argv)} has not kept the whole output")
        return sample

    cases = [
        Case("cat", lambda: keeping(cat, "/", kept)),
        Case("capture", lambda: keeping(capture, "/", kept)),
        Case("git-agent start", lambda: keeping(start, site.trees["feature/codex"], runs)),
    ]
    samples = interleaved(cases, rounds)
    yard = ("cat", samples["cat"])
    return [row(name, samples[name], None if name == "cat" else yard, limits) for name, limits in LIMITS.items()]


def _site(folder: Path, output: str) -> repository.Site:
    """A small repository, and a codex that prints `output`."""
    site = repository.build(folder, repository.Size(3, 10, 2, 1))
    version = repository.VERSIONS["codex"]
    engine = folder / "bin" / "codex"
    engine.write_text(f"#!/bin/sh\n[ \"$1\" != --version ] || exec echo '{version}'\nexec cat '{output}'\n")
    shutil.rmtree(site.layout.root)
    return site
