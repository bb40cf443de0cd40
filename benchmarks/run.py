"""Ratios measured in one run, interleaved: `make bench`, or `python benchmarks/run.py [NAME ...]`.

Each benchmark times a yardstick among its own cases, because absolute times say more about the machine than about the
program. See docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import capture
import events
import find
import hooks
import many
import startup
from measure import Row

BENCHMARKS: dict[str, Callable[[Path, int, bool], list[Row]]] = {
    "startup": startup.measure,
    "capture": capture.measure,
    "find": find.measure,
    "events": events.measure,
    "hooks": hooks.measure,
    "many": many.measure,
}
HEADER = ("", "median ms", "least ms", "cpu ms", "cpu ratio", "peak MiB", "ratio", "limits", "")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure git-agent against its yardsticks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all without one")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each case (default: 15)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that the harness works")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is passed")
    options = parser.parse_args(argv)
    if unknown := set(options.names) - BENCHMARKS.keys():
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    names = options.names or list(BENCHMARKS)
    if len(names) > 1:
        return max(_alone(name, options) for name in names)
    with tempfile.TemporaryDirectory(prefix="git-agent-bench-") as folder:
        rows = BENCHMARKS[names[0]](Path(folder).resolve(), options.rounds, options.quick)
    print(f"{names[0]}, {options.rounds} rounds\n\n{table(map(cells, rows))}\n", flush=True)
    return 1 if options.check and any(row.over for row in rows) else 0


def _alone(name: str, options: argparse.Namespace) -> int:
    """In its own process, since the memory of this one would count as its children's."""
    flags = [f"--{flag}" for flag in ("quick", "check") if getattr(options, flag)]
    return subprocess.run(
        (sys.executable, __file__, name, f"--rounds={options.rounds}", *flags), check=False
    ).returncode


def cells(row: Row) -> tuple[str, ...]:
    times = (f"{row.median:.1f}", f"{row.least:.1f}", f"{row.cpu:.1f}")
    cpu_ratio = "" if row.cpu_ratio is None else f"{row.cpu_ratio:.2f}"
    peak = "" if row.peak is None else f"{row.peak:.0f}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} {row.per}"
    verdict = f"OVER {', '.join(row.over)}" if row.over else "ok" if row.limits else ""
    return (row.what, *times, cpu_ratio, peak, ratio, ", ".join(row.limits), verdict)


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns of Markdown, so that what is printed can be in docs/benchmarks.md as it is."""
    lines = [HEADER, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    ruled = [lines[0], tuple("-" * width for width in widths), *lines[1:]]
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in ruled)


if __name__ == "__main__":
    sys.exit(main())
