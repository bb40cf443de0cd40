"""`git agent doctor`: what is wrong in this repository, and how to fix it."""

from __future__ import annotations

import click

from git_agent_hooks.finding import lost_hooks
from git_agent_runner.console.lines import print_json, warn
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.maintain.doctor import refs
from git_agent_runner.maintain.doctor.examine import examine
from git_agent_runner.maintain.doctor.finding import Finding

SCHEMA = 1
ROUNDS = 4  # what is fixed may show what was hidden by it: a record, then its attempt, then its note


@click.command(short_help="Find and fix what is wrong in this repository")
@click.option("--repair", is_flag=True, help="Rebuild what is damaged. Never deletes intact data.")
@click.option("--prune", is_flag=True, help="Delete pointers to missing runs, and locks left by a killed git.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(repair: bool, prune: bool, as_json: bool) -> int:
    """Check records, runs, notes, pointers, locks, sessions, settings and engines.

    The exit status is 1 when something is wrong.
    """
    done: dict[str, list[str]] = {"repaired": [], "pruned": []}
    known, left = examine(lost_hooks)
    for _ in range(ROUNDS):
        if not sum(_mend(finding, repair=repair, prune=prune, done=done) for finding in left):
            break
        known, left = examine(lost_hooks)
    elsewhere = refs.elsewhere(known)
    if as_json:
        problems = [{"code": one.code, "problem": one.problem, "fix": one.fix} for one in left]
        print_json({"schema": SCHEMA, "problems": problems, **done, "elsewhere": elsewhere})
    else:
        _print(left, done, elsewhere)
    return 1 if left else 0


def _mend(finding: Finding, *, repair: bool, prune: bool, done: dict[str, list[str]]) -> bool:
    """Apply the requested repair or prune; returns whether it was done, and prints why not."""
    act, word = (finding.repair, "repaired") if repair and finding.repair else (finding.prune, "pruned")
    if act is None or not (repair if word == "repaired" else prune):
        return False
    try:
        act()
    except UserError as error:
        warn(f"not fixed: {finding.problem}: {error.message}", error.hints)
        return False
    except OSError as error:
        warn(f"not fixed: {finding.problem}: {error.strerror}")
        return False
    done[word].append(finding.problem)
    return True


def _print(left: list[Finding], done: dict[str, list[str]], elsewhere: list[str]) -> None:
    for word, problems in done.items():
        for problem in problems:
            print(f"{word}: {shown(problem)}")
    for finding in left:
        print(f"problem: {shown(finding.problem)}\n    fix: {shown(finding.fix)}")
    if not left:
        print("nothing else is wrong" if any(done.values()) else "nothing is wrong")
    if elsewhere:
        print(f"known only from notes: {', '.join(elsewhere)}; to adopt one: git agent adopt HANDLE")
