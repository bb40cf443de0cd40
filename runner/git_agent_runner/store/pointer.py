"""The pointer: `branch.<name>.agentHandle`, which git itself moves with a branch and removes with it."""

from __future__ import annotations

from git_agent_runner.core.model import Repository
from git_agent_runner.git.settings import Config
from git_agent_runner.store.files.layout import is_handle

PREFIX = "branch."
SUFFIX = ".agenthandle"


def read(repo: Repository, config: Config) -> dict[str, str]:
    """Branch name -> handle, of all branches; where there are several, the one that git reads."""
    return {name: handles[-1] for name, handles in every(repo, config).items()}


def of(repo: Repository, config: Config, branch: str) -> str | None:
    """The handle of this branch, as of `read`, without looking at those of all the others."""
    key = f"{PREFIX}{branch}{SUFFIX}"
    return read(repo, Config(tuple(entry for entry in config.entries if entry.key == key))).get(branch)


def every(repo: Repository, config: Config) -> dict[str, tuple[str, ...]]:
    """Branch name -> handles, of all branches: `git branch -M` and `-C` onto a living one leave two.

    Only the repository's own file counts: git moves and removes no other, and a file that it includes may be tracked.
    """
    own, found = f"{repo.common_dir}/config", dict[str, tuple[str, ...]]()
    for _, file, key, value in config.entries:
        if key.endswith(SUFFIX) and file == own and key.startswith(PREFIX) and value and is_handle(value):
            name = key[len(PREFIX) : -len(SUFFIX)]
            found[name] = (*found[name], value) if name in found else (value,)
    return found


def write(repo: Repository, branch: str, handle: str) -> bool:
    """Point the branch at the run, if it does not already. True if it was written. Raises ConfigError."""
    from git_agent_runner.store import gitconfig

    return gitconfig.put(repo, f"{PREFIX}{branch}.agentHandle", handle, enough=lambda values: values == [handle])


def remove(repo: Repository, branch: str, handle: str) -> bool:
    """Take the pointer away, if the branch still points at that run. True if it did. Raises ConfigError."""
    from git_agent_runner.store import gitconfig

    return gitconfig.unset(repo, f"{PREFIX}{branch}.agentHandle", handle)
