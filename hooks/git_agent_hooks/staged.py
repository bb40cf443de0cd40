"""What git is about to commit."""

from __future__ import annotations

from collections.abc import Mapping

from git_agent_runner import git


def staged(environ: Mapping[str, str]) -> list[str]:
    """File names, of the index that git commits from: `commit -a` and `commit <path>` make one for themselves."""
    named = {name: environ[name] for name in ("GIT_DIR", "GIT_INDEX_FILE") if name in environ}
    return git.run(("diff", "--cached", "--name-only", "-z"), check=False, env=named).out.split("\0")[:-1]
