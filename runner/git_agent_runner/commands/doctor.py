"""`git agent doctor`: what is wrong in this repository, and how to mend it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import click

from git_agent_runner import context
from git_agent_runner.context import Context, find_program
from git_agent_runner.engines import MODULES, all_added, load
from git_agent_runner.errors import UserError
from git_agent_runner.git import in_repo
from git_agent_runner.present import print_json, quote, shown
from git_agent_runner.store import attempts, cache, notes, pointer
from git_agent_runner.store.layout import handle_of, is_run_id

SCHEMA = 1


class Finding(NamedTuple):
    """One thing that is wrong. `run_id` names the run whose record `--repair` can rebuild."""

    code: str
    problem: str
    mend: str
    run_id: str | None = None


@click.command(short_help="Say what is wrong in this repository, and mend it")
@click.option("--repair", is_flag=True, help="Rebuild missing and damaged records from their run directories.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(repair: bool, as_json: bool) -> int:
    """Look at records, runs, notes, pointers, settings and engines. The exit status is 1 when something is wrong."""
    ctx = context.load()
    left = list(examine(ctx))
    mended = [finding for finding in left if repair and finding.run_id and _repair(ctx, finding)]
    if mended:
        left = list(examine(ctx))  # a pointer to a record that was missing is none to nowhere any more
    if as_json:
        print_json(
            {
                "schema": SCHEMA,
                "problems": [{"code": one.code, "problem": one.problem, "mend": one.mend} for one in left],
                "repaired": [one.problem for one in mended],
            }
        )
    else:
        _print(left, mended)
    return 1 if left else 0


def _print(left: list[Finding], mended: list[Finding]) -> None:
    for finding in mended:
        print(f"repaired: {shown(finding.problem)}")
    for finding in left:
        print(f"problem: {shown(finding.problem)}\n   mend: {shown(finding.mend)}")
    if not left:
        print("nothing is wrong" if not mended else "nothing else is wrong")


def examine(ctx: Context) -> Iterator[Finding]:
    yield from _records(ctx)
    yield from _pointers(ctx)
    yield from _notes(ctx)
    yield from _identity(ctx)
    yield from _engines(ctx)


def _records(ctx: Context) -> Iterator[Finding]:
    runs = {handle_of(name): name for name in _run_ids(ctx)}
    found, problems = ctx.runs.read_all()
    for problem in problems:
        run_id = runs.get(os.path.basename(problem.path).removesuffix(".yaml"))
        mend = "git agent doctor --repair" if run_id else "correct it by hand; its run directory is gone"
        yield Finding("record_corrupt", problem.message, mend, run_id)
    known = {record.handle for record in found} | {os.path.basename(problem.path)[:8] for problem in problems}
    for handle, run_id in runs.items():
        if handle not in known and attempts.state(ctx.layout, handle, run_id) != "running":
            yield _unrecorded(ctx, run_id)
    for record in found:
        if record.handle not in runs:
            yield Finding(
                "run_directory_missing",
                f"run {record.handle} has lost its directory {record.run_directory}",
                f"its session may still be resumed; to forget it: rm {quote(ctx.layout.index_file(record.handle))}",
            )
        elif attempts.state(ctx.layout, record.handle, record.run_id) == "dead":
            yield Finding(
                "attempt_interrupted",
                f"git-agent could not settle attempt {record.attempts} of run {record.handle}",
                f'go on: git agent resume {record.handle} "<message>"',
            )


def _unrecorded(ctx: Context, run_id: str) -> Finding:
    if attempts.latest(ctx.layout, run_id):
        return Finding("record_missing", f"run {run_id} has no record", "git agent doctor --repair", run_id)
    return Finding(
        "run_empty",
        f"run {run_id} has neither a record nor an attempt: git-agent was killed before its engine was started",
        f"rm -r {quote(ctx.layout.run(run_id))}",
    )


def _run_ids(ctx: Context) -> list[str]:
    try:
        return sorted(name for name in os.listdir(ctx.layout.runs_dir) if is_run_id(name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _repair(ctx: Context, finding: Finding) -> bool:
    assert finding.run_id
    try:
        ctx.runs.repair(attempts.rebuild(ctx.layout, finding.run_id))
    except UserError:
        return False
    return True


def _pointers(ctx: Context) -> Iterator[Finding]:
    runs = {handle_of(name) for name in _run_ids(ctx)}
    for branch, handle in pointer.read(ctx.repo, ctx.config).items():
        if not os.path.lexists(ctx.layout.index_file(handle)) and handle not in runs:
            yield Finding(
                "pointer_dangling",
                f"branch '{branch}' points at run {handle}, which has no record",
                f"git config --unset {quote(f'branch.{branch}.agentHandle')}",
            )


def _notes(ctx: Context) -> Iterator[Finding]:
    if notes.exists(ctx.repo) and not notes.carried(ctx.config):
        yield Finding("notes_not_carried", "notes are lost when a commit is amended or rebased", "git agent init")
    for problem in notes.read(ctx.repo).problems:
        yield Finding("note_malformed", problem, "git notes --ref=agent edit <commit>")


def _identity(ctx: Context) -> Iterator[Finding]:
    if in_repo(ctx.repo, "var", "GIT_COMMITTER_IDENT", check=False).status:
        yield Finding(
            "identity_missing",
            "git knows no name and e-mail here, so notes cannot be written; records are",
            'git config --global user.name "<name>"; git config --global user.email "<address>"',
        )


def _engines(ctx: Context) -> Iterator[Finding]:
    wrong = {name: found for name, found in all_added(ctx.environ) if isinstance(found, UserError)}
    for error in wrong.values():
        yield Finding(error.code, error.message, "; ".join(error.hints))
    used = {row.agent_name for row in cache.listing(ctx.layout, time.time()).rows}
    for name in sorted(used - (set(wrong) - set(MODULES))):
        try:
            engine = load(name, ctx.environ)
            program = find_program(ctx, engine)
        except UserError as error:
            yield Finding(error.code, error.message, "; ".join(error.hints) or "see git agent engines")
            continue
        if engine.risk and (risk := engine.risk(ctx.environ, program.version)):
            yield Finding("session_risk", f"{name}: {risk}", "change that setting of the engine")
