"""Ratios measured in one run, interleaved: `make bench`, or `python benchmarks/run.py [NAME ...]`.

Each benchmark times a yardstick among its own cases, because absolute times say more about the machine than about the
program. See docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import startup
from measure import Row

BENCHMARKS: dict[str, Callable[[Path, int, bool], list[Row]]] = {
    "startup": startup.measure,
}
HEADER = ("", "median ms", "least ms", "cpu ms", "peak MiB", "ratio", "limits", "")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure git-agent against its yardsticks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all without one")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each case (default: 15)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that the harness works")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is passed")
    options = parser.parse_args(argv)
    if unknown := set(options.names) - BENCHMARKS.keys():
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    over = False
    for name in options.names or BENCHMARKS:
        with tempfile.TemporaryDirectory(prefix=f"git-agent-bench-{name}-") as folder:
            rows = BENCHMARKS[name](Path(folder).resolve(), options.rounds, options.quick)
        over = any(row.over for row in rows) or over
        print(f"{name}, {options.rounds} rounds\n\n{table(map(cells, rows))}\n", flush=True)
    return 1 if over and options.check else 0


def cells(row: Row) -> tuple[str, ...]:
    figures = (f"{row.median:.2f}", f"{row.least:.2f}", f"{row.cpu:.2f}", f"{row.peak:.0f}")
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} {row.per}"
    verdict = f"OVER {', '.join(row.over)}" if row.over else "ok" if row.limits else ""
    return (row.what, *figures, ratio, ", ".join(row.limits), verdict)


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns of Markdown, so that what is printed can stand in docs/benchmarks.md as it is."""
    lines = [HEADER, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    ruled = [lines[0], tuple("-" * width for width in widths), *lines[1:]]
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in ruled)


if __name__ == "__main__":
    sys.exit(main())
