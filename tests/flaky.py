"""The suite again and again, in another order each time, while others use the processors and the disk.

`make flaky TIMES=3 PART=unit` prints the tests that did not pass each time, with the seed that repeats their order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree  # our own pytest writes it

BURNERS = 2
# Both end with whoever started them. Each block is on the disk before the next is written, so that every fsync waits.
BURN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    pass
"""
WRITE = """
import os, sys
parent = os.getppid()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
while os.getppid() == parent:
    os.pwrite(file, os.urandom(1 << 20), 0)
    os.fsync(file)
"""


@contextmanager
def busy(folder: str) -> Iterator[None]:
    """A machine that others use, too."""
    code = [*[(sys.executable, "-c", BURN)] * BURNERS, (sys.executable, "-c", WRITE, os.path.join(folder, "block"))]
    running = [subprocess.Popen(words) for words in code]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(seed: int, words: list[str], report: Path) -> list[str]:
    """The tests that did not pass; `words` are pytest's."""
    order = ("--random-order", "--random-order-bucket=global", f"--random-order-seed={seed}")
    done = subprocess.run((sys.executable, "-m", "pytest", "-q", *order, f"--junitxml={report}", *words), check=False)
    cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    names = [f"{case.get('classname')}::{case.get('name')}" for case in bad]
    return names or ([f"pytest itself: exit status {done.returncode}"] if done.returncode else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the first order; the next has the next number")
    chosen, words = parser.parse_known_args()
    found: dict[str, list[int]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, busy(folder):
        for seed in range(chosen.seed, chosen.seed + chosen.times):
            for test in run(seed, words, Path(folder, f"{seed}.xml")):
                found[test].append(seed)
    for test, seeds in sorted(found.items()):
        print(f"{test} did not pass with seed {', '.join(map(str, seeds))}")
    print(f"{chosen.times} runs, {len(found)} tests that did not pass each time")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
