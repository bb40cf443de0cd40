"""Git directories that another repository may hold as ordinary files: a tracked `x.git/` with a `config` of its own.

Git never tracks anything named `.git`, so a nested clone, a submodule and a linked work tree are none of these.
"""

from __future__ import annotations

import os

from git_agent_runner import git
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository


def outer(repo: Repository) -> str | None:
    """The work tree of another repository that this one's git directory lies in, as files that it could track."""
    path = common = os.path.realpath(repo.common_dir)
    while os.path.basename(path).lower() != ".git":
        path, below = os.path.dirname(path), path
        if path == below:
            return None
        own = os.path.join(path, ".git")
        if os.path.lexists(own) and _repository(path) not in ("", common):
            return path
    return None


def _repository(folder: str) -> str:
    """The git directory of a folder that has a `.git`, which may be ours, as in a bare layout; empty for none."""
    done = git.run(("rev-parse", "--path-format=absolute", "--git-common-dir"), cwd=folder, check=False)
    return os.path.realpath(done.out.rstrip("\n")) if done.status == 0 else ""


def refuse_tracked_runs(repo: Repository, root: str) -> None:
    """Raises UserError `untrusted_repository` where the runs themselves are tracked files: they would choose flags."""
    if not os.path.isdir(root) or (top := outer(repo)) is None:
        return
    if git.run(("ls-files", "-z", "--", os.path.realpath(root)), cwd=top, check=False).out:
        raise UserError(
            f"'{root}' is tracked by the repository in '{top}', which must not choose what runs",
            code="untrusted_repository",
            hints=("move that git directory out of the work tree, or remove its folder `agent`",),
        )
