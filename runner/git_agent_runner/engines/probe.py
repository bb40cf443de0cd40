"""Which program an engine's name means here, and its version: asked once, then remembered until the file changes."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from git_agent_runner.engines.spec import Engine, Version

TIMEOUT = 60.0  # seconds; gemini takes 2 on an idle machine, 20 were seen on a busy one
REMEMBERED = 8  # installations of one engine

# Where an engine describes the flags of its headless form, when not in plain `--help`.
HELP = {
    "codex": (("exec", "--help"), ("exec", "resume", "--help")),
    "opencode": (("run", "--help"),),
}

# One program or script that stands for many and picks a version by directory: its file does not show the engine's.
_DISPATCHERS = frozenset({"mise", "rtx", "asdf", "volta-shim", "proto-shim"})
_DISPATCH = re.compile(rb"\A#!.*\b(asdf|mise|rtx|nodenv|volta)\b", re.DOTALL)

# "0.61.0", "codex-cli 0.171.0", "2.1.332 (Claude Code)", "GitHub Copilot CLI 1.0.102."; not "Now using node v20.20.2
# (npm v10.8.2)".
_VERSION_LINE = re.compile(r"\s*(?:[\w@/.-]+ |GitHub Copilot CLI )?v?\d+(?:\.\d+)+\S*(?: \(.*\))?\s*")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


class Probe(NamedTuple):
    """An engine's program. `binary` is the absolute path to start: the one named or found, links not followed."""

    binary: str
    version: Version


def probe(
    engine: Engine, setting: str | None, environ: Mapping[str, str], cache_dir: str, work_tree: str | None = None
) -> Probe:
    """Find the engine's program and its version. No process is started when the file was seen before.

    `setting` is `agent.<engine>.binary`, else PATH is searched. A program inside `work_tree` (an absolute real path)
    or another work tree of its repository does not count: whoever writes to the repository would choose what runs.
    Raises UserError with the code `binary_missing`, `binary_in_repository`, `probe_failed` or `version_unknown`.
    """
    binary = find_binary(engine, setting, environ, work_tree)
    known = _recall(engine, binary, cache_dir)
    if "version" in known:
        return Probe(binary, tuple(known["version"]))
    text, errors = _ask(engine, binary, ("--version",), environ)
    version = _version(engine, text if text.strip() else errors)  # pi 0.73.1 says it on stderr, off a terminal
    if version is None:
        raise UserError(
            f"{binary} --version does not say which version of {engine.name} it is",
            code="version_unknown",
            hints=(*_excerpt(text, errors), f"set 'git config agent.{engine.name}.binary' to the right program"),
        )
    _remember(engine, binary, cache_dir, {"version": list(version)})
    return Probe(binary, version)


def flags(engine: Engine, found: Probe, environ: Mapping[str, str], cache_dir: str) -> frozenset[str]:
    """Every flag that this program's help describes, as written ("--json", "-m"). Raises UserError `probe_failed`."""
    known = _recall(engine, found.binary, cache_dir)
    if "flags" in known:
        return frozenset(known["flags"])
    pages = [_ask(engine, found.binary, words, environ) for words in HELP.get(engine.name, (("--help",),))]
    described = frozenset(flag for page in pages for text in page for flag in _described(text))
    _remember(engine, found.binary, cache_dir, {"version": list(found.version), "flags": sorted(described)})
    return described


def user_cache_dir(environ: Mapping[str, str]) -> str:
    """This program's folder for what may be deleted at any time; it need not exist."""
    base = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base) and sys.platform.startswith("linux") and environ.get("HOME"):
        base = os.path.join(environ["HOME"], ".cache")
    if os.path.isabs(base):
        return os.path.join(base, "git-agent")
    import platformdirs

    return platformdirs.user_cache_dir("git-agent", appauthor=False)


def forget(engine: Engine, cache_dir: str) -> None:
    """Ask the engine's programs again, though their files did not change."""
    with suppress(OSError):  # what is not there, or cannot be written, is no memory either
        os.unlink(_cache_file(engine, cache_dir))


def find_binary(engine: Engine, setting: str | None, environ: Mapping[str, str], work_tree: str | None) -> str:
    """The absolute path of the engine's program. Raises UserError `binary_missing` or `binary_in_repository`."""
    named = setting or engine.binary
    if named.startswith("~/"):
        named = os.path.join(environ.get("HOME", "/"), named[2:])
    candidates = [named] if "/" in named else _on_path(named, environ)
    if "/" in named and not os.path.isabs(named):
        raise UserError(f"agent.{engine.name}.binary is the relative path '{named}'", **_missing(engine))
    runnable = [path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK)]
    outside = [path for path in runnable if not _inside(path, work_tree)]
    if outside:
        return outside[0]
    if runnable:
        raise UserError(
            f"{runnable[0]} is inside this repository, whose content must not choose what runs",
            code="binary_in_repository",
            hints=(f"set 'git config agent.{engine.name}.binary' to a program outside of it",),
        )
    where = "is not a program that can be run" if "/" in named else "is not on PATH"
    raise UserError(f"'{named}' {where}", **_missing(engine))


def _on_path(name: str, environ: Mapping[str, str]) -> list[str]:
    """As shutil.which, which costs more to import than to run, but without folders relative to where we are."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return [os.path.join(folder, name) for folder in folders if os.path.isabs(folder)]


def _missing(engine: Engine) -> dict[str, Any]:
    hints = (
        f"install it: {engine.install}",
        f"or set 'git config agent.{engine.name}.binary' to its absolute path",
    )
    return {"code": "binary_missing", "hints": hints}


def find_on_path(name: str, environ: Mapping[str, str], work_tree: str | None) -> str | None:
    """The program of that name which a person would get, but for those inside the repository of `work_tree`."""
    runnable = (path for path in _on_path(name, environ) if os.path.isfile(path) and os.access(path, os.X_OK))
    return next((path for path in runnable if not _inside(path, work_tree)), None)


def _inside(path: str, work_tree: str | None) -> bool:
    """Is the file, or the link that names it, in this work tree or in another one of the same repository?"""
    if work_tree is None:
        return False
    own = _repository(work_tree)
    link = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    for place in (link, os.path.realpath(path)):
        while (folder := os.path.dirname(place)) != place:
            if folder == work_tree or (own and _repository(folder) == own):
                return True
            place = folder  # noqa: PLW2901  climbing is what the inner loop does
    return False


def _repository(folder: str) -> str | None:
    """The common git directory of the work tree whose top this is, None for any other folder. Without git."""
    git = os.path.join(folder, ".git")
    try:
        if os.path.isfile(git):
            git = os.path.join(folder, _line(git).removeprefix("gitdir: "))
            git = os.path.join(git, _line(os.path.join(git, "commondir")))
    except FileNotFoundError:
        pass  # a submodule or a separate git directory: it is its own
    except OSError:
        return None
    return os.path.realpath(git) if os.path.isdir(git) else None


def _line(path: str) -> str:
    return ordinary.head(path, 1 << 16).decode("utf-8", "surrogateescape").rstrip("\n")


def _ask(engine: Engine, binary: str, words: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, str]:
    """What the program prints when asked, as (stdout, stderr).

    It runs in / with no variable of git's: an engine or a version manager reads what lies where it is started.
    """
    from git_agent_runner.process.ask import ask

    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")} | {"PWD": "/"}
    answer = ask((binary, *words), env, TIMEOUT)
    if answer.failure is None:
        return answer.stdout, answer.stderr
    raise UserError(
        f"{' '.join((binary, *words))} {answer.failure}",
        code="probe_failed",
        hints=(*_excerpt(answer.stderr, answer.stdout), f"does {engine.name} work in a terminal of its own?"),
    )


def _excerpt(*texts: str) -> tuple[str, ...]:
    """The first lines that are not blank, shortened; escapes are made visible where they are printed."""
    lines = [line for text in texts for line in text[:4096].splitlines() if line.strip()]
    return tuple(line[:200] for line in lines[:8])


def _version(engine: Engine, text: str) -> Version | None:
    """Version managers talk before the engine does, so the last line that looks like a version counts."""
    lines = text.splitlines()[::-1]
    likely = [line for line in lines if _VERSION_LINE.fullmatch(line)]
    return next((version for line in likely or lines if (version := engine.parse_version(line.strip()))), None)


def _described(text: str) -> set[str]:
    """Flags at the head of a line: what comes after two blanks is prose, which may name another command's."""
    heads = [re.split(r"\s{2,}", line.strip())[0] for line in text.splitlines() if line.lstrip().startswith("-")]
    return {flag for head in heads for flag in _FLAG.findall(head)}


def _recall(engine: Engine, binary: str, cache_dir: str) -> dict[str, Any]:
    """What is remembered of exactly this file, or nothing."""
    entry = _load(_cache_file(engine, cache_dir)).get(os.path.realpath(binary))
    return entry if isinstance(entry, dict) and entry.get("seen") == _fingerprint(binary) else {}


def _remember(engine: Engine, binary: str, cache_dir: str, facts: dict[str, Any]) -> None:
    """Without a cache the answer is only slower, so a full or read-only disk is not worth a word."""
    real, path = os.path.realpath(binary), _cache_file(engine, cache_dir)
    others = [(key, value) for key, value in _load(path).items() if key != real]
    try:
        if _dispatches(real):
            return
        entry = {"seen": _fingerprint(binary), **facts}
        _replace(path, dict(others[1 - REMEMBERED :]) | {real: entry})
    except OSError:
        return


def _replace(path: str, entries: dict[str, Any]) -> None:
    from git_agent_runner.core import atomic

    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(UserError):
        atomic.write(path, json.dumps(entries).encode(), durable=False)


def _cache_file(engine: Engine, cache_dir: str) -> str:
    return os.path.join(cache_dir, f"probe-{engine.name}.json")


def _load(path: str) -> dict[str, Any]:
    """A cache that is missing or damaged is an empty one."""
    try:
        entries = json.loads(ordinary.whole(path, 1 << 20))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _fingerprint(binary: str) -> list[list[int]]:
    """Of the program and, for a script of a Node package, its package.json, where the version is written.

    The change time is part of it: package managers may set any modification time, and versions have like sizes.
    """
    real = os.path.realpath(binary)
    found = [os.stat(path) for path in (real, _package_json(real)) if path]
    return [[stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns] for stat in found]


def _package_json(real: str) -> str | None:
    folder = os.path.dirname(real)
    while "/node_modules/" in folder:
        path = os.path.join(folder, "package.json")
        if os.path.isfile(path):
            return path
        folder = os.path.dirname(folder)
    return None


def _dispatches(real: str) -> bool:
    if os.path.basename(real) in _DISPATCHERS:
        return True
    return bool(_DISPATCH.match(ordinary.head(real, 1024)))
