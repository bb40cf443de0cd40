"""The engines that a person has added: profiles in the configuration directory, and installed Python packages.

    $XDG_CONFIG_HOME/git-agent/engines/<name>.yaml        (without the variable ~/.config, or the system's own place)
    entry point `<name>` of the group `git_agent.engines`: a module or object with `ENGINE`, `PROFILE` and, to be tried
    with, `EXAMPLE`: an Engine, a Profile and a Sample

Nothing is looked at unless a name is asked for that is not in our own table. A profile inside a work tree of this
repository is refused, as settings are: whoever may write there would choose what runs. A package needs no such check:
what Python imports from runs in our process anyway.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core.errors import UserError

if TYPE_CHECKING:
    from importlib import metadata

    from git_agent_extractors.profile import Profile
    from git_agent_runner.engines.contract import Sample
    from git_agent_runner.engines.spec import Engine

GROUP = "git_agent.engines"
SUFFIX = ".yaml"
LARGEST = 256 * 1024  # bytes of a profile
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
# (profile file, working directory) -> what was read: one command sees one profile, also when it is edited meanwhile.
_read: dict[tuple[str, str], Added] = {}


class Added(NamedTuple):
    """An engine that is not shipped. `origin` is its file, or the package and its version.

    `example` is what the contract is tried with; a package may bring none.
    """

    engine: Engine
    profile: Profile
    origin: str
    example: Sample | None = None


def folder(environ: Mapping[str, str]) -> str:
    """Where a person's profiles lie; it need not exist."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base) and sys.platform.startswith("linux") and environ.get("HOME"):
        base = os.path.join(environ["HOME"], ".config")
    if os.path.isabs(base):
        return os.path.join(base, "git-agent", "engines")
    import platformdirs

    return os.path.join(platformdirs.user_config_dir("git-agent", appauthor=False), "engines")


def find(name: str, environ: Mapping[str, str]) -> Added | None:
    """The engine of that name: of its profile file, else of a package; None where there is neither.

    Raises UserError `profile_invalid` or `profile_in_repository`.
    """
    if not _NAME.fullmatch(name):
        return None
    path = os.path.join(folder(environ), name + SUFFIX)
    if os.path.lexists(path):
        return _of_file(name, path, environ)
    return next((_of_package(entry) for entry in _packaged() if entry.name == name), None)


def names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names that there are profiles or packages for, whatever they are worth. Sorted, each once."""
    try:
        files = os.listdir(folder(environ))
    except OSError:
        files = []
    own = {file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX) and not file.startswith(".")}
    return tuple(sorted(own | {entry.name for entry in _packaged()}))


def place(name: str, environ: Mapping[str, str]) -> str:
    """Where the engine of that name was found, for messages about it."""
    path = os.path.join(folder(environ), name + SUFFIX)
    if os.path.lexists(path):
        return path
    return next((_origin(entry) for entry in _packaged() if entry.name == name), path)


@cache
def _packaged() -> list[metadata.EntryPoint]:
    from importlib import metadata  # as slow to import as all of a profile to read, and a file needs none of it

    return list(metadata.entry_points(group=GROUP))


def _of_file(name: str, path: str, environ: Mapping[str, str]) -> Added:
    key = (path, _here())
    if key not in _read:
        _refuse_tracked(path, key[1], environ)
        _read[key] = _made(name, path, _content(path))
    return _read[key]


def _content(path: str) -> bytes:
    try:
        content = ordinary.head(path, LARGEST + 1)
    except OSError as error:
        raise _invalid(f"'{path}' cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise _invalid(f"'{path}' is larger than {LARGEST >> 10} KiB")
    return content


def _made(name: str, path: str, content: bytes) -> Added:
    from git_agent_extractors import declared as reading
    from git_agent_runner.engines.added import declared, form, profile_form

    try:
        found = profile_form.read(content.decode(), name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _invalid(f"'{path}', line {line}: expected UTF-8") from None
    except form.FormError as error:
        raise _invalid(f"'{path}', line {error.line}: {error.text}") from None
    engine = declared.engine(name, found.declared, found.rules.session)
    return Added(engine, reading.profile(found.rules), path, found.example)


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # a directory that is gone is in no repository
        return "/"


def _refuse_tracked(path: str, directory: str, environ: Mapping[str, str]) -> None:
    """Raises UserError `profile_in_repository`. Outside of a repository nobody else's files are near."""
    from git_agent_runner.git import discover
    from git_agent_runner.git.refs import worktrees
    from git_agent_runner.git.settings import inside_work_tree

    try:
        repo = discover(directory, environ)
    except UserError:
        return
    if any(inside_work_tree(repo, path, tree.path) for tree in worktrees(repo)):
        raise UserError(
            f"the engine profile '{path}' is inside this repository, whose content must not choose what runs",
            code="profile_in_repository",
            hints=("keep it outside of the repository, and not as a link into it",),
        )


def _of_package(entry: metadata.EntryPoint) -> Added:
    from git_agent_extractors.profile import Profile
    from git_agent_runner.engines.contract import Sample
    from git_agent_runner.engines.spec import Engine

    origin = _origin(entry)
    try:
        found = entry.load()
    except Exception as error:  # noqa: BLE001  it is another one's code: whatever it does must not stop ours
        raise _invalid(f"{origin} cannot be loaded: {type(error).__name__}: {error}") from None
    engine, profile = getattr(found, "ENGINE", None), getattr(found, "PROFILE", None)
    if not (isinstance(engine, Engine) and isinstance(profile, Profile)):
        raise _invalid(f"{origin}: expected '{entry.value}' to have ENGINE and PROFILE, as an Engine and a Profile")
    if (engine.name, profile.name, profile.field) != (entry.name, entry.name, engine.field):
        raise _invalid(f"{origin}: expected ENGINE and PROFILE to have the name '{entry.name}' and the same field")
    example = getattr(found, "EXAMPLE", None)
    return Added(engine, profile, origin, example if isinstance(example, Sample) else None)


def _origin(entry: metadata.EntryPoint) -> str:
    return f"package {entry.dist.name} {entry.dist.version}" if entry.dist else f"entry point {entry.name}"


def _invalid(message: str) -> UserError:
    hint = "fix it, then try it: git agent engines --check NAME"
    return UserError(f"engine profile {message}", code="profile_invalid", hints=(hint,))
