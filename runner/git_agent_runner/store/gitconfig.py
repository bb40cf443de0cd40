"""Writing the repository's git configuration without losing a value to a neighbour.

Of 20 `git config` at once, 5 failed with "could not lock config file": git does not wait for its own lock. So ours is
held, git is tried again, and what is there afterwards is read back.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from git_agent_runner import git
from git_agent_runner.core import checkpoints
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import Layout

LOCK_WAIT = 30.0
PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)


class ConfigError(UserError):
    """The configuration could not be written; the caller makes one warning of it."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key} could not be written: {reason}", code="config_failed")


def put(
    repo: Repository,
    key: str,
    value: str,
    *,
    enough: Callable[[list[str]], bool],
    add: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Set `key` in the repository's own file, or `add` one value, unless the values there are `enough`.

    With `add` all of git's files are looked at, else only the repository's own. True if something was written.
    Raises ConfigError.
    """
    return _locked(repo, key, lambda: _put(repo, key, value, enough, add, sleep))


def unset(repo: Repository, key: str, value: str, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Take `value` of `key` out of the repository's own file. True if it was there. Raises ConfigError."""
    return _locked(repo, key, lambda: _unset(repo, key, value, sleep))


def _locked(repo: Repository, key: str, write: Callable[[], bool]) -> bool:
    try:
        with locks.locked(Layout(repo.common_dir).lock("config"), wait=LOCK_WAIT):
            checkpoints.at("pointer-locked")
            written = write()
            checkpoints.at("pointer-written")
            return written
    except git.GitError as error:
        raise ConfigError(key, git.reason(error.result)) from None
    except UserError as error:
        raise error if isinstance(error, ConfigError) else ConfigError(key, error.message) from None


def _put(
    repo: Repository,
    key: str,
    value: str,
    enough: Callable[[list[str]], bool],
    add: bool,
    sleep: Callable[[float], None],
) -> bool:
    scope = () if add else ("--local",)
    if enough(_values(repo, key, scope)):
        return False
    words = ("config", "--local", "--add" if add else "--replace-all", key, value)
    for pause in PAUSES:
        result = git.run(words, git_dir=repo.common_dir, cwd=repo.common_dir, check=False)
        if result.status == 0 and value in _values(repo, key, scope):
            return True
        sleep(pause)
    raise ConfigError(key, git.reason(result) if result.status else "another program keeps changing it")


def _unset(repo: Repository, key: str, value: str, sleep: Callable[[float], None]) -> bool:
    if value not in _values(repo, key, ("--local",)):
        return False
    words = ("config", "--local", "--unset-all", key, f"^{re.escape(value)}$")
    for pause in PAUSES:
        result = git.run(words, git_dir=repo.common_dir, cwd=repo.common_dir, check=False)
        if value not in _values(repo, key, ("--local",)):
            return True
        sleep(pause)
    raise ConfigError(key, git.reason(result) if result.status else "another program keeps changing it")


def _values(repo: Repository, key: str, scope: tuple[str, ...]) -> list[str]:
    words = ("config", *scope, "-z", "--get-all", key)
    return git.run(words, git_dir=repo.common_dir, cwd=repo.common_dir, check=False).out.split("\0")[:-1]
