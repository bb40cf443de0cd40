"""What commands cost that look at every run, in CPU time: 10,000 runs and 5,000 branches with a pointer each.

Two of them also with 100,000 runs: they must cost the same.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from git_agent_hooks import shim
from git_agent_hooks.install import HOOKS
from git_agent_runner.store import records
from git_agent_runner.store.files import locks
from measure import NO_LIMITS, Case, Limits, Row, Sample, idle, interleaved, process, row
from repository import Site, Size, build, program
from startup import YARDSTICK

RUN, NO_RUN = "feature/claude", "plain"
MANY = Size(10_000, 10_000, 5_000, 2_000, attempts=True, stopped=200)
MORE = Size(100_000, 100_000, 5_000, 10)
FEW_POINTERS = Size(10_000, 10_000, 100, 10)
SLEEPING, SECONDS = 50, 10
COMMIT = ("commit", "-q", "--allow-empty", "-m", "work")


def measure(folder: Path, rounds: int, quick: bool) -> list[Row]:
    """A third of the rounds: each takes a minute."""
    many, more, few = (
        (Size(60, 60, 20, 10, stopped=5), Size(70, 60, 20, 10), Size(60, 60, 5, 10))
        if quick
        else (MANY, MORE, FEW_POINTERS)
    )
    site = build(folder / "many", many._replace(attempts=True))
    cases: dict[Case, Limits] = {Case("U", lambda: process(YARDSTICK, "/", site.env)): NO_LIMITS}
    cases |= dict(_cases(site, folder / "many"))
    cases |= dict(_more(build(folder / "more", more), folder / "more", more.records))
    cases |= dict(_commits(site, folder / "hooks", many.branches))
    cases |= dict(_commits(build(folder / "few", few), folder / "few-hooks", few.branches))
    samples = interleaved(list(cases), max(rounds // 3, 1))
    yard = ("U", samples["U"])
    rows = [row(case.name, samples[case.name], None if case.name == "U" else yard, cases[case]) for case in cases]
    return [*rows, _watch(site, 2 if quick else SECONDS)]


def _cases(site: Site, folder: Path) -> Iterator[tuple[Case, Limits]]:
    ours, top = program(site.env, "git-agent"), site.trees[RUN]
    plain = _tree(site, folder / "plain")

    def case(words: str, limit: float, tree: str = top, ends: int = 0) -> tuple[Case, Limits]:
        argv = (ours, *words.split())
        what = words if tree == top else f"{words}, no run"
        return Case(what, lambda: process(argv, tree, site.env, ends)), Limits(cpu=limit)

    yield case("doctor", 10.0, ends=1)  # most of the sessions are gone, which it names
    yield case("prune -n --older-than 1d", 4.0)
    yield case("prune -n --merged", 4.0)
    yield case("resume --all -n", 8.0)
    yield case("status", 1.1)
    yield case("show", 1.1)
    yield case("status", 1.2, plain, 128)
    yield case("list", 1.0)
    told = folder / "spent"
    argv = (sys.executable, str(Path(__file__).with_name("starting.py")), str(told), "start", "-e", "codex", "write")

    def start() -> Sample:
        sample = process(argv, site.trees["feature/codex"], site.env, 1)  # the stand-in says no more than its version
        return sample._replace(cpu=float(told.read_text()))

    yield Case("start, before the engine", start), Limits(cpu=0.8)


def _more(site: Site, folder: Path, runs: int) -> Iterator[tuple[Case, Limits]]:
    ours, plain = program(site.env, "git-agent"), _tree(site, folder / "plain")
    yield Case(f"status, no run, of {runs}", lambda: process((ours, "status"), plain, site.env, 128)), Limits(cpu=1.2)
    yield Case(f"list, of {runs}", lambda: process((ours, "list"), site.trees[RUN], site.env)), Limits(cpu=1.0)


def _commits(site: Site, hooks: Path, pointers: int) -> Iterator[tuple[Case, Limits]]:
    """What our hooks and the pointers in git's configuration add: no limit, the table says it."""
    git = program(site.env, "git")
    hooks.mkdir()
    for name in HOOKS:
        (hooks / name).write_text(shim.text(name, sys.executable))
        (hooks / name).chmod(0o755)
    tree, ours = site.trees[RUN], ("-c", f"core.hooksPath={hooks}", *COMMIT)
    for what, argv in (("git rev-parse", (git, "rev-parse", "HEAD")), ("commit with a run", (git, *ours))):
        yield Case(f"{what}, {pointers} pointers", partial(process, argv, tree, site.env)), NO_LIMITS


def _watch(site: Site, seconds: int) -> Row:
    """Runs that are running and silent, which a watch only waits for."""
    policy = (program(site.env, "git"), "-C", site.trees[RUN], "config", "agent.onDead", "resume")
    subprocess.run(policy, env=site.env, check=True)
    with ExitStack() as held:
        for record in site.records[:SLEEPING]:
            lock = locks.try_lock(site.layout.run_lock(record.handle))
            assert lock
            held.enter_context(lock)
            Path(site.layout.index_file(record.handle)).write_text(records.render(record._replace(status=None)))
        argv = (program(site.env, "git-agent"), "watch")
        found = idle(argv, site.trees[RUN], site.env, seconds)
    return row(f"watch, {SLEEPING} sleeping runs", [found], ("core", [Sample(seconds, seconds, 0)]), Limits(cpu=0.01))


def _tree(site: Site, tree: Path) -> str:
    """A work tree on a branch that has no run."""
    argv = (program(site.env, "git"), "-C", site.trees[RUN], "worktree", "add", "-q", "-b", NO_RUN, str(tree), "main")
    subprocess.run(argv, env=site.env, check=True, capture_output=True)
    return str(tree)
