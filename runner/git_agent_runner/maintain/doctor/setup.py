"""Findings of `git agent doctor`: where it may not write, who git takes the person for, and the engines."""

from __future__ import annotations

import os
from collections.abc import Iterator

from git_agent_runner.context import find_program
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import quote
from git_agent_runner.engines import MODULES, all_added, load
from git_agent_runner.git import in_repo
from git_agent_runner.maintain.doctor.finding import Finding, RepositoryFacts


def settings(known: RepositoryFacts) -> Iterator[Finding]:
    """Values of `agent.*` that are not valid, or that a tracked file gives."""
    for error in known.refused:
        yield Finding(error.code, error.message, "; ".join(error.hints))


def read_only(known: RepositoryFacts) -> Iterator[Finding]:
    """A git directory that cannot be written: no run can be begun, and none that is there can continue."""
    layout = known.ctx.layout
    for path in (layout.common_dir, layout.root, layout.index_dir, layout.runs_dir):
        if os.path.isdir(path) and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            fix = f"make it writable for {_user()}, or remount it read-write; see: ls -ld {quote(path)}"
            yield Finding("read_only", f"you cannot write to '{path}', so no run can be recorded", fix)
            return


def _user() -> str:
    return f"user {os.geteuid()}"


def identity(known: RepositoryFacts) -> Iterator[Finding]:
    """Notes are commits, and git makes none for nobody."""
    if in_repo(known.ctx.repo, "var", "GIT_COMMITTER_IDENT", check=False).status:
        yield Finding(
            "identity_missing",
            "git has no name and e-mail address here, so notes cannot be written (records can)",
            'git config --global user.name "<name>"; git config --global user.email "<address>"',
        )


def engines(known: RepositoryFacts) -> Iterator[Finding]:
    """The engines that runs need, and those that the person has added."""
    ctx = known.ctx
    wrong = {name: found for name, found in all_added(ctx.environ) if isinstance(found, UserError)}
    for error in wrong.values():
        yield Finding(error.code, error.message, "; ".join(error.hints))
    used = {record.agent_name for record in known.records.values()}
    for name in sorted(used - (set(wrong) - set(MODULES))):
        try:
            engine = load(name, ctx.environ)
            find_program(ctx, engine)
        except UserError as error:
            yield Finding(error.code, error.message, "; ".join(error.hints) or "see git agent engines")
