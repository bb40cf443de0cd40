"""The pointer: `branch.<name>.agentHandle`, which git itself moves with a branch and removes with it."""

from __future__ import annotations

from git_agent_runner.model import Repository
from git_agent_runner.settings import Config
from git_agent_runner.store.layout import is_handle

PREFIX = "branch."
SUFFIX = ".agenthandle"


def read(repo: Repository, config: Config) -> dict[str, str]:
    """Branch name -> handle, of all branches.

    Only the repository's own file counts: git moves and removes no other, and a file that it includes may be tracked.
    """
    own = f"{repo.common_dir}/config"
    return {
        entry.key[len(PREFIX) : -len(SUFFIX)]: entry.value
        for entry in config.entries
        if entry.key.startswith(PREFIX)
        and entry.key.endswith(SUFFIX)
        and entry.file == own
        and is_handle(entry.value or "")
        and entry.value is not None
    }


def write(repo: Repository, branch: str, handle: str) -> bool:
    """Point the branch at the run, if it does not already. True if it was written. Raises ConfigError."""
    from git_agent_runner.store import gitconfig

    return gitconfig.put(repo, f"{PREFIX}{branch}.agentHandle", handle, enough=lambda values: values == [handle])
