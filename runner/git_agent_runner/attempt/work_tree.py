"""Choose the directory of a resume: the recorded one, else the branch's work tree; never another branch's."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record, Repository
from git_agent_runner.engines import wording
from git_agent_runner.git import HEADS, trees
from git_agent_runner.git.refs import Stray, Worktree, astray, commit_of, newest, stray_at, worktrees


class RunPlace(NamedTuple):
    """The working directory of the next attempt; `note` is a line to say when it is not the recorded one."""

    cwd: str
    note: str | None = None


def place(
    record: Record,
    repo: Repository,
    elsewhere: Callable[[bool], bool],
    *,
    cwd_override: str | None = None,
    default_directory: str | None = None,
) -> RunPlace:
    """Where `record` runs next. `record.branch` is the run's branch now, after any rename.

    `elsewhere(same_repository)` tells if the engine can resume outside the session's directory. No git process while
    the run's branch is checked out where the command runs. Raises UserError `branch_elsewhere`, `directory_gone`.
    """
    if cwd_override is not None:
        return _existing(cwd_override, record, elsewhere)
    if not record.cwd:
        return _existing(default_directory or repo.top, record, elsewhere)
    if record.branch is None:
        return _without_branch(record, repo, elsewhere)
    if (repo.top, repo.branch) == (record.worktree, record.branch):
        return _existing(record.cwd, record, elsewhere)
    known = worktrees(repo)
    if Worktree(record.worktree, record.branch) in known:
        return _there(record, repo, record.worktree, elsewhere)
    now = next((tree for tree in known if tree.branch == record.branch), None)
    if now is None:
        raise _nowhere(record, repo, known, elsewhere)
    if not elsewhere(True):
        raise _only_there(record, repo, known, now)
    return _moved(record, now.path, f"where '{record.branch}' is checked out now")


def checked_out(repo: Repository) -> frozenset[str | None]:
    """The branches that have a work tree of this repository, None among them where one has no branch."""
    return frozenset(tree.branch for tree in worktrees(repo))


def unplaced(repo: Repository, heads: set[str], branch: str, handle: str) -> str:
    """Why a run whose branch has no work tree cannot continue, and what to do. `heads` are branches."""
    if branch not in heads:
        return f"there is no branch '{branch}'; to use the run on another one: git agent adopt {handle}"
    path = f"{repo.common_dir.removesuffix('/.git')}-{branch.replace('/', '-')}"
    path = f"{path}-{handle}" if os.path.lexists(path) else path
    way = f"git worktree add {shlex.quote(path)} {shlex.quote(branch)}"
    return f"'{branch}' is not checked out anywhere; to continue it: {way}"


def _without_branch(record: Record, repo: Repository, elsewhere: Callable[[bool], bool]) -> RunPlace:
    """The directory of a run without a branch: the work tree that the record names, and no other at its path."""
    top = trees.path_of(repo, record.worktree_id)
    if top is None:
        stray = stray_at(repo, record.worktree)
        raise _tree_gone(record) if stray is None or stray.copied else _astray(record, stray)
    if record.cwd == top or record.cwd.startswith(top.rstrip("/") + "/"):
        return _there(record, repo, top, elsewhere)
    if not elsewhere(True):
        raise UserError(
            f"run {record.handle} belongs to '{top}', but its session began in '{record.cwd}'",
            code="directory_gone",
            hints=(f"{record.agent_name} resumes a session only in its own directory",),
        )
    return _moved(record, top, "the run's work tree")


def _tree_gone(record: Record) -> UserError:
    now = "; another directory is at its path now" if os.path.isdir(record.worktree) else ""
    return UserError(
        f"the work tree of run {record.handle} is missing: '{record.worktree}'{now}",
        code="directory_gone",
        hints=(
            f"git agent adopt {record.handle}",
            "this ties the run to the branch or work tree you are in, where a resume then finds it",
        ),
    )


def _there(record: Record, repo: Repository, top: str, elsewhere: Callable[[bool], bool]) -> RunPlace:
    """The recorded directory, with a line if the person is in another work tree."""
    found = _existing(record.cwd, record, elsewhere)
    return found if top == repo.top else found._replace(note=f"running in '{record.cwd}', the run's own directory")


def _existing(cwd: str, record: Record, elsewhere: Callable[[bool], bool]) -> RunPlace:
    if os.path.isdir(cwd):
        return RunPlace(cwd)
    fresh = f'git agent resume {record.handle} --cwd DIR --fallback fresh "<message>"'
    bound = (f"mkdir -p {shlex.quote(cwd)}", f"or start a new session in another one: {fresh}")
    raise UserError(
        f"the directory of run {record.handle} is missing: '{cwd}'",
        code="directory_gone",
        hints=(f"to run it in another one: {wording.resume(record, '--cwd', 'DIR')}",) if elsewhere(False) else bound,
    )


def _moved(record: Record, top: str, why: str) -> RunPlace:
    """The same subdirectory in the other work tree, if it exists there."""
    same = os.path.normpath(os.path.join(top, os.path.relpath(record.cwd, record.worktree or record.cwd)))
    inside = same == top or same.startswith(top.rstrip("/") + "/")
    cwd = same if inside and os.path.isdir(same) else top
    return RunPlace(cwd, f"running in '{cwd}', {why}, instead of '{record.cwd}'")


def _nowhere(record: Record, repo: Repository, known: list[Worktree], elsewhere: Callable[[bool], bool]) -> UserError:
    assert record.branch is not None
    if stray := astray(repo, record.branch):
        return _astray(record, stray)
    recorded = next((tree for tree in known if tree.path == record.worktree), None)
    tree = recorded or Worktree(repo.top, repo.branch)
    here = tree.path == repo.top
    git = "git" if here else f"git -C {shlex.quote(tree.path)}"
    there, branch = shlex.quote(record.worktree), shlex.quote(record.branch)
    exists = commit_of(repo, HEADS + record.branch) is not None
    choice = f"or choose the directory yourself with --cwd DIR: {record.agent_name} resumes there too"
    choose = (choice,) if elsewhere(False) else ()
    commit = "" if exists else _last_commit(record, repo)
    adopt = () if exists else (f"or tie the run to where you are: git agent adopt {record.handle}",)
    if not os.path.isdir(record.worktree):
        again = f"{there} {branch}" if exists else f"-b {branch} {there} {commit}".rstrip() + _tie(record)
        return UserError(
            f"the work tree of run {record.handle} is missing: '{record.worktree}'",
            code="directory_gone",
            hints=(f"git worktree add {_force(record, repo)} {again}", *adopt, *choose),
        )
    branch = branch if exists else f"-c {branch} {commit}".rstrip() + _tie(record)
    gone = "" if exists else ", which was deleted"
    return UserError(
        f"run {record.handle} belongs to branch '{record.branch}'{gone}, but {_checked_out(tree, here=here)}",
        code="branch_elsewhere",
        hints=(f"{git} switch {branch}", *adopt, *choose),
    )


def _tie(record: Record) -> str:
    """A branch that is made again does not inherit the run of the one before."""
    return f" && git agent adopt {record.handle} --branch {shlex.quote(record.branch or '')}"


def _force(record: Record, repo: Repository) -> str:
    """What makes git take a registered path again: twice where it is locked, as apps that run agents do."""
    admin = record.worktree_id.partition("@")[0]
    return "-f -f" if admin and os.path.lexists(f"{repo.common_dir}/{admin}/locked") else "-f"


def _astray(record: Record, stray: Stray) -> UserError:
    """Git counts the branch as checked out in a work tree that does not lead back here."""
    path, branch = shlex.quote(stray.path), shlex.quote(record.branch or "")
    if stray.copied:
        why = f"'{record.branch}' is checked out in '{stray.path}', in the repository this one was copied from"
        hint = f"git switch --ignore-other-worktrees {branch}"
    else:
        why = f"its work tree '{stray.path}' does not know where this repository is now"
        hint = f"git worktree repair {path}"
    return UserError(f"run {record.handle} cannot continue: {why}", code="branch_elsewhere", hints=(hint,))


def _last_commit(record: Record, repo: Repository) -> str:
    """Where the run's work ended, as far as its notes tell; else where it began."""
    from git_agent_runner.store import notes  # a rare need

    found = notes.read(repo).by_commit
    noted = [commit for commit, runs in found.items() if any(note.handle == record.handle for note in runs)]
    return newest(repo, noted) or record.start_commit or ""


def _only_there(record: Record, repo: Repository, known: list[Worktree], now: Worktree) -> UserError:
    """The hints that give the recorded directory its branch back; git checks a branch out in one work tree at a
    time."""
    assert record.branch is not None
    there, branch = shlex.quote(record.worktree), shlex.quote(record.branch)
    free = f"git -C {shlex.quote(now.path)} switch --detach"
    only = f"{record.agent_name} resumes a session only in its own directory; with --cwd DIR it would not find it"
    recorded = next((tree for tree in known if tree.path == record.worktree), None)
    if recorded is None and not os.path.isdir(record.worktree):
        return UserError(
            f"the directory of run {record.handle} is missing: '{record.cwd}'; '{record.branch}' is checked out in"
            f" '{now.path}'",
            code="directory_gone",
            hints=(free, f"git worktree add {_force(record, repo)} {there} {branch}", only),
        )
    away = (
        _checked_out(recorded, here=False) if recorded else f"'{record.worktree}' is not a work tree of this repository"
    )
    back = (free, f"git -C {there} switch {branch}") if recorded else ()
    return UserError(
        f"run {record.handle} belongs to branch '{record.branch}', checked out in '{now.path}', but {away}",
        code="branch_elsewhere",
        hints=(*back, only),
    )


def _checked_out(tree: Worktree, *, here: bool) -> str:
    place = "here" if here else f"in '{tree.path}'"
    return f"HEAD is detached {place}" if tree.branch is None else f"'{tree.branch}' is checked out {place}"
