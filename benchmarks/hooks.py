"""What our hooks add to git's own commands, as whole processes: commits with and without a run, a rebase, pre-commit.

Every case is the same command twice: with git's hooks in an empty directory, and with ours. Git starts post-commit for
each commit that a rebase makes, so a rebase is also held against a post-commit that does nothing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from git_agent_hooks import shim
from git_agent_hooks.install import HOOKS
from measure import Case, Limits, Row, Sample, interleaved, process, row
from repository import Site, Size, build, program
from startup import YARDSTICK

RUN = "feature/claude"  # has a pointer
COMMIT = ("commit", "-q", "--allow-empty", "-m", "work")
PICKS = 100
EMPTY = {"post-commit": "#!/bin/sh\nexit 0\n"}
_CONFIG = """\
repos:
- repo: local
  hooks:
  - id: it
    name: it
    language: system
    entry: '{entry}'
    stages: [post-commit]
    always_run: true
    pass_filenames: false
"""


def measure(folder: Path, rounds: int, quick: bool) -> list[Row]:
    site = build(folder, Size(60, 60, 5, 10) if quick else Size())
    git = program(site.env, "git")
    trees = {"no run": _tree(site, git, folder, "plain", 5 if quick else PICKS), "a run": site.trees[RUN]}
    ours = {name: shim.text(name, sys.executable) for name in HOOKS}
    hooks = {"none": _hooks(folder / "none", {}), "ours": _hooks(folder / "ours", ours)}
    cases = [Case("U", lambda: process(YARDSTICK, "/", site.env))]
    for run, tree in trees.items():
        cases += [_case(site, f"commit, {run}, {name}", (git, *place, *COMMIT), tree) for name, place in hooks.items()]
    again = ("rebase", "-q", "--force-rebase", "plain-base")
    plain = trees["no run"]
    rebased = {**hooks, "an empty hook": _hooks(folder / "empty", EMPTY)}
    cases += [_case(site, f"rebase, {name}", (git, *place, *again), plain) for name, place in rebased.items()]
    cases += _under_pre_commit(site, git, folder, trees["a run"])
    samples = interleaved(cases, rounds)
    return [row("U", samples["U"]), *_rows(samples)]


def _rows(samples: dict[str, list[Sample]]) -> list[Row]:
    yard = ("U", samples["U"])
    plain = [row(name, found, yard) for name, found in samples.items() if name.startswith(("commit", "pre-commit"))]
    none, empty = ((name, samples[name]) for name in ("rebase, none", "rebase, an empty hook"))
    return [
        *plain,
        row(*none),
        row(*empty, none),
        row("rebase, ours", samples["rebase, ours"], none, Limits(ratio=1.1)),
        row("rebase, ours", samples["rebase, ours"], empty, Limits(ratio=1.1)),
        _added(samples, "commit, no run", yard, Limits(ms=2.0)),
        _added(samples, "commit, a run", yard, Limits(ratio=1.0)),
        _added(samples, "pre-commit, a run", yard, Limits(ratio=1.0)),
    ]


def _added(samples: dict[str, list[Sample]], name: str, yard: tuple[str, Sequence[Sample]], limits: Limits) -> Row:
    """What each round took longer, as if it were its own process."""
    rounds = zip(samples[f"{name}, none"], samples[f"{name}, ours"], strict=True)
    added = [Sample(more.wall - less.wall, more.cpu - less.cpu, 0) for less, more in rounds]
    return row(f"ours add to {name}", added, yard, limits)


def _case(site: Site, name: str, argv: tuple[str, ...], tree: str) -> Case:
    return Case(name, lambda: process(argv, tree, site.env))


def _tree(site: Site, git: str, folder: Path, branch: str, commits: int) -> str:
    """A work tree on a branch without a run, with commits of its own that no note is on."""
    top, tree = site.trees[RUN], str(folder / branch)

    def run(*words: str) -> None:
        subprocess.run((git, "-C", *words), env=site.env, check=True, capture_output=True)

    run(top, "worktree", "add", "-q", "-b", branch, tree, "HEAD")
    run(tree, "branch", f"{branch}-base")
    for number in range(commits):
        (Path(tree) / "picked").write_text(f"{number}\n")
        run(tree, "add", "picked")
        run(tree, "commit", "-q", "-m", f"pick {number}")
    return tree


def _hooks(folder: Path, texts: Mapping[str, str]) -> tuple[str, str]:
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return ("-c", f"core.hooksPath={folder}")


def _under_pre_commit(site: Site, git: str, folder: Path, tree: str) -> list[Case]:
    """pre-commit's own cost is large: our hook is held against one that does nothing at the same stage."""
    cases = []
    for name, entry in (("none", "true"), ("ours", f"{Path(sys.executable).with_name('git-agent-hook')} record")):
        config = folder / f"{name}.yaml"
        config.write_text(_CONFIG.format(entry=entry))
        place = folder / f"pre-commit-{name}"
        place.mkdir()
        words = (
            "-m",
            "pre_commit",
            "hook-impl",
            "--hook-type=post-commit",
            f"--config={config}",
            f"--hook-dir={place}",
        )
        (place / "post-commit").write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(words)} -- "$@"\n')
        (place / "post-commit").chmod(0o755)
        argv = (git, "-c", f"core.hooksPath={place}", *COMMIT)
        cases.append(_case(site, f"pre-commit, a run, {name}", argv, tree))
    return cases
