"""The one door to git: words in, status and bytes out, never a shell, never the caller's index.

Output is text decoded so that every byte survives (`surrogateescape`); nothing here reads a localised message.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository
from git_agent_runner.core.nameless import nameless

if TYPE_CHECKING:
    from typing import BinaryIO

# What `git rev-parse --local-env-vars` prints (2.39; newer versions print a part of it): these describe one
# repository, so a process that may work in another one must not inherit them.
LOCAL_ENV_VARS = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
)
# `git -c key=value agent …` and its environment form: the person's own words, for our own calls only.
CONFIG_ENV_VARS = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
CONFIG_ENV_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")

FACTS = (
    "rev-parse",
    "--path-format=absolute",
    "--git-dir",
    "--git-common-dir",
    "--is-bare-repository",
    "--show-toplevel",
    "HEAD",
    "--symbolic-full-name",
    "HEAD",
)
HEADS = "refs/heads/"
SIGPIPE = 13  # as in `signal`, which takes long to import for one number; Python ignores it, git must not


class Result(NamedTuple):
    """How one git process ended. `out` and `err` keep undecodable bytes as lone surrogates."""

    status: int
    out: str
    err: str


class GitError(UserError):
    """A git command that had to succeed did not; the message ends with git's own reason."""

    def __init__(self, words: Sequence[str], result: Result) -> None:
        command = next((word for word in words if not word.startswith("-")), "")
        super().__init__(f"git {command} failed: {reason(result)}{_remote(result)}", code="git_failed")
        self.result = result


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process that may work in any repository, such as an engine."""
    return {
        name: value
        for name, value in environ.items()
        if name not in LOCAL_ENV_VARS and not name.startswith(CONFIG_ENV_PREFIXES)
    }


def own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of our own calls: what names a repository is gone, `git -c` settings are kept."""
    return {name: value for name, value in environ.items() if name not in LOCAL_ENV_VARS or name in CONFIG_ENV_VARS}


_PREFIXES = ("fatal: ", "error: ")


def reason(result: Result) -> str:
    """Git's reason in one line: the line that `fatal:` or `error:` begins, else the last one it printed."""
    lines = [line.strip() for line in result.err.split("\n") if line.strip()]
    found = next((line for prefix in _PREFIXES for line in lines if line.startswith(prefix)), None)
    while found and found.startswith(_PREFIXES):  # git says `fatal: fatal:` where one git called another
        found = found.partition(":")[2].strip()
    if found:
        return found
    return lines[-1] if lines else f"exit status {result.status}"


def _remote(result: Result) -> str:
    """What the server printed last, such as why a hook of its own refused a push."""
    lines = [line.strip() for line in result.err.split("\n")]
    told = [line for line in lines if line.startswith(("remote: ", "! ["))]
    return f" ({'; '.join(told[-4:])})" if told else ""


def run(
    words: Sequence[str],
    *,
    git_dir: str | None = None,
    cwd: str | None = None,
    stdin: str | None = None,
    check: bool = True,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run git with these words. `env` is added to our own scrubbed environment.

    Raises GitError for a non-zero status if `check`, UserError (`git_missing`) when git cannot be started.
    """
    place = () if git_dir is None else (f"--git-dir={git_dir}",)
    environ = {**own_environment(os.environ), **(env or {})}
    result = _spawn((*place, *words), cwd, stdin, environ)
    if check and result.status:
        raise GitError(words, result)
    return result


def in_repo(repo: Repository, *words: str, stdin: str | None = None, check: bool = True) -> Result:
    """Ask this repository, seen from this work tree. The process sits in the common directory, which stays, and which
    is asked where an engine has removed the work tree.
    """
    git_dir = repo.git_dir if os.path.isdir(repo.git_dir) else repo.common_dir
    return run(words, git_dir=git_dir, cwd=repo.common_dir, stdin=stdin, check=check)


def _spawn(words: Sequence[str], cwd: str | None, stdin: str | None, environ: Mapping[str, str]) -> Result:
    """Without `subprocess`, which takes longer to import than git takes to answer."""
    argv = ("git", *(() if cwd is None else ("-C", cwd)), *words)
    # stdin is never the terminal, nor what a caller's pipe holds.
    with _scratch(stdin or "") as source, _scratch() as out, _scratch() as err:
        actions = [(os.POSIX_SPAWN_DUP2, file.fileno(), fd) for fd, file in enumerate((source, out, err))]
        try:
            pid = os.posix_spawnp("git", argv, environ, file_actions=actions, setsigdef=(SIGPIPE,))
        except OSError as error:
            raise _cannot_start(error) from None
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status and cwd is not None and not os.path.isdir(cwd):
            raise UserError(f"the directory '{cwd}' no longer exists", code="directory_gone")
        return Result(status, _text(out), _text(err))


def _scratch(text: str = "") -> BinaryIO:
    """It takes all that git has to say, so that nobody waits for anybody to read."""
    return nameless(text.encode("utf-8", "surrogateescape"))


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "surrogateescape")


def _cannot_start(error: OSError) -> UserError:
    if isinstance(error, FileNotFoundError):
        hint = "install git 2.36 or newer, or put it on PATH"
        return UserError("git was not found on PATH", code="git_missing", hints=(hint,))
    return UserError(f"git cannot be started: {error.strerror}", code="git_missing")


def discover(cwd: str, environ: Mapping[str, str]) -> Repository:
    """The repository that `cwd` lies in, or that GIT_DIR names. One git process, two or three in rare states.

    Raises UserError: `not_a_repository`, `bare_repository`, `no_work_tree`, `dubious_ownership`, `git_missing`.
    """
    base = own_environment(environ)
    named = {name: environ[name] for name in ("GIT_DIR", "GIT_WORK_TREE") if name in environ}
    if "GIT_DIR" in named and "GIT_WORK_TREE" not in named:
        # GIT_DIR alone, as in a hook of a linked worktree, makes git take any current directory for the top of
        # the work tree. Where the plain search ends at the same git directory, its answer is the right one.
        plain = _spawn(FACTS, cwd, None, base)
        git_dir = os.path.realpath(os.path.join(cwd, named["GIT_DIR"]))
        if plain.out.split("\n", 1)[0] == git_dir:
            return _repository(plain, cwd, base)
    env = {**base, **named}
    return _repository(_spawn(FACTS, cwd, None, env), cwd, env)


def _repository(result: Result, cwd: str, env: Mapping[str, str]) -> Repository:
    facts = result.out.split("\n")[:-1]
    if len(facts) < 4 or facts[2] != "false":
        raise _refusal(facts, result, cwd)
    git_dir, common_dir, _, top = facts[:4]
    if len(facts) == 6 and result.status == 0:
        head, ref = facts[4:]
        return Repository(top, git_dir, common_dir, short_name(ref), head)
    # Unborn, or a ref that is itself called HEAD makes the name ambiguous.
    ref = _spawn(("symbolic-ref", "-q", "HEAD"), cwd, None, env).out.rstrip("\n")
    oid = _spawn(("rev-parse", "-q", "--verify", "HEAD"), cwd, None, env).out.rstrip("\n")
    return Repository(top, git_dir, common_dir, short_name(ref), oid or None)


def _refusal(facts: list[str], result: Result, cwd: str) -> UserError:
    if facts[:1] == ["--path-format=absolute"]:
        return UserError("this git is too old; git 2.36 or newer is needed", code="git_missing")
    if facts[2:3] == ["true"]:
        linked = len(facts) > 1 and facts[0] != facts[1]
        hint = "work in a linked worktree of it: git worktree add <path> <branch>"
        if linked:
            hint = "core.bare is set for all of its work trees; for this one: git config --worktree core.bare false"
        return UserError(f"'{facts[0]}' is a bare repository", code="bare_repository", hints=(hint,))
    if len(facts) == 3:
        return UserError(f"'{cwd}' is inside a git directory, not in a work tree", code="no_work_tree")
    if len(facts) > 3:
        return UserError("the repository's path holds a line break", code="not_a_repository")
    # The name of the setting is not translated, and git's own text says what to do about it.
    if "safe.directory" in result.err:
        ways = [line.strip() for line in result.err.splitlines() if "safe.directory" in line]
        return UserError(reason(result), code="dubious_ownership", hints=tuple(ways))
    return UserError(f"{reason(result)} (in '{cwd}')", code="not_a_repository")


def short_name(ref: str) -> str | None:
    """`refs/heads/a/b` -> `a/b`; None for anything that is no branch."""
    return ref.removeprefix(HEADS) if ref.startswith(HEADS) else None
