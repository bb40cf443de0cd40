"""What a person waits for before anything happens: `resume --dry-run`, `status` and `list`, as whole processes.

The yardstick U is a Python that imports what this program is built on and does nothing with it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from git_agent_runner.store import records
from measure import NO_LIMITS, Case, Limits, Row, interleaved, process, row
from repository import NOTED, Site, Size, build, program

YARDSTICK = (sys.executable, "-c", "import git, ruamel.yaml, click")
RESUME = ("resume", "--dry-run", "now its tests")
# A file that was written less than 20 ms ago may change without a sign of it, so the list does not remember it.
SETTLED = 0.03


def measure(folder: Path, rounds: int, quick: bool) -> list[Row]:
    """Through `git agent`, as a person calls it, and without git in between."""
    site = build(folder, Size(60, 60, 5, 10) if quick else Size())
    git, direct = (program(site.env, name) for name in ("git", "git-agent"))
    cases = {Case("U", lambda: process(YARDSTICK, "/", site.env)): NO_LIMITS}
    for way, argv in (("git agent", (git, "agent")), ("git-agent", (direct,))):
        cases |= dict(_cases(site, way, argv))
    samples = interleaved(list(cases), rounds)
    yard = ("U", samples["U"])
    return [
        row(case.name, samples[case.name], None if case.name == "U" else yard, limits) for case, limits in cases.items()
    ]


def _cases(site: Site, way: str, argv: tuple[str, ...]) -> Iterator[tuple[Case, Limits]]:
    for branch, tree in site.trees.items():
        _prove(site, (*argv, *RESUME), tree, branch)
        # Every start leaves a pointer; without one the note is looked for, which takes four more questions to git.
        limits = NO_LIMITS if branch == NOTED else Limits(ratio=0.7)
        yield _case(site, f"{way} resume --dry-run, {branch}", (*argv, *RESUME), tree), limits
    tree = site.trees["feature/claude"]
    yield _case(site, f"{way} status", (*argv, "status"), tree), Limits(ratio=1.1)
    yield _case(site, f"{way} list", (*argv, "list"), tree), Limits(ratio=1.0)
    changed = _case(site, f"{way} list, one record changed", (*argv, "list"), tree)
    attempts = count(2)
    yield changed._replace(before=lambda: _change(site, next(attempts))), Limits(ratio=1.2)


def _case(site: Site, name: str, argv: tuple[str, ...], tree: str) -> Case:
    return Case(name, lambda: process(argv, tree, site.env))


def _prove(site: Site, argv: tuple[str, ...], tree: str, branch: str) -> None:
    """A command that fails is fast, and so is one that finds another run."""
    done = subprocess.run(argv, cwd=tree, env=site.env, capture_output=True, text=True, check=False)
    session = next(record.session.value for record in site.records if record.branch == branch)
    if str(session) not in done.stdout:
        raise RuntimeError(f"{' '.join(argv)} does not resume {session}:\n{done.stdout}{done.stderr}")


def _change(site: Site, attempts: int) -> None:
    record = site.records[0]._replace(attempts=attempts)
    Path(site.layout.index_file(record.handle)).write_text(records.render(record))
    time.sleep(SETTLED)
