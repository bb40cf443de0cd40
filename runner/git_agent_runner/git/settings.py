"""`agent.*` and the rest of git's configuration, read once, with the file each value comes from.

Nothing tracked in the repository may choose a binary, an argument or a policy: a value of `agent.*` that comes from a
file inside a work tree (`include.path = ../.gitconfig`, `.git/config` as a link) is refused, whatever it says. The
person's own files are theirs, also where they keep them in this repository: they hold everywhere, and git itself runs
what they name. So are files in another repository, which no branch of this one changes: dotfiles are kept like that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn, get_args

from git_agent_runner.core.clock import duration
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import AgentMode, Repository, Settings
from git_agent_runner.core.text import quote
from git_agent_runner.git import in_repo
from git_agent_runner.git.embedded import outer
from git_agent_runner.git.refs import worktrees

FALLBACKS = ("fail", "continue", "fresh", "picker")
MODES = get_args(AgentMode)
TERMINALS = ("tmux", "screen", "kitty", "wezterm", "iterm2", "terminal.app", "gnome-terminal", "windows-terminal")
_COUNT = re.compile("[1-9][0-9]{2,8}", re.ASCII)
_LARGEST = 4 << 20  # bytes of a file that is looked through for a line


class ConfigEntry(NamedTuple):
    """One value of git's configuration. Section and variable of `key` are lower case, as git lists them.

    `scope` is system, global, local, worktree or command; `file` is an absolute path, empty on the command line.
    `value` is None for a key without `=`.
    """

    scope: str
    file: str
    key: str
    value: str | None


class Config(NamedTuple):
    """Everything that `git config --list` says here, in git's order: of equal keys the last one counts."""

    entries: tuple[ConfigEntry, ...]

    def all(self, key: str) -> tuple[str, ...]:
        return tuple(entry.value for entry in self.entries if entry.key == key and entry.value is not None)

    def last(self, key: str) -> str | None:
        return next(reversed(self.all(key)), None)

    def subsections(self, section: str, variable: str) -> tuple[str, ...]:
        """The names between: `remote`, `url` gives the names of all remotes."""
        head, tail = f"{section}.", f".{variable}"
        keys = (entry.key for entry in self.entries if entry.key.startswith(head) and entry.key.endswith(tail))
        return tuple(dict.fromkeys(key[len(head) : -len(tail)] for key in keys if len(key) > len(head + tail)))


def read(repo: Repository) -> Config:
    """One git process."""
    words = in_repo(repo, "config", "--list", "-z", "--show-scope", "--show-origin").out.split("\0")[:-1]
    files = {origin: _file(repo, origin) for origin in dict.fromkeys(words[1::3])}
    triples = zip(words[::3], words[1::3], words[2::3], strict=True)
    return Config(tuple(_entry(scope, files[origin], text) for scope, origin, text in triples))


def _file(repo: Repository, origin: str) -> str:
    kind, _, path = origin.partition(":")
    return os.path.join(repo.common_dir, path) if kind == "file" else ""


def _entry(scope: str, file: str, text: str) -> ConfigEntry:
    key, equals, value = text.partition("\n")
    return ConfigEntry(scope, file, key, value if equals else None)


def load(
    repo: Repository, environ: Mapping[str, str], refused: Callable[[UserError], None] | None = None
) -> tuple[Settings, Config]:
    """The person's settings, and all of git's configuration for the others who need some of it.

    Raises UserError `untrusted_setting` for a value from inside a work tree, `invalid_setting` for a bad one. `refused`
    is reported of them instead, and they count as not set.
    """
    config = read(repo)
    ours = [entry for entry in config.entries if entry.key.startswith("agent.")]
    tracked = _tracked(repo, ours, environ)
    settings = Settings()
    for entry in ours:
        try:
            settings = _untrusted(entry) if entry in tracked else _with_entry(settings, entry, repo, environ)
        except UserError as error:
            line = _line(entry, ours) if error.code == "invalid_setting" else None
            if line:
                error.hints = (f"correct line {line}: git config --file {quote(entry.file)} --edit",)
            if refused is None:
                raise
            if line:
                error.message = error.message.replace("; expected", f", line {line}; expected", 1)
            refused(error)
    return settings, config


def _line(entry: ConfigEntry, ours: list[ConfigEntry]) -> int | None:
    """The line of the value in its file, where it has one."""
    from git_agent_extractors import ordinary
    from git_agent_runner.git.settings_place import line_of

    before = [other for other in ours if (other.file, other.key) == (entry.file, entry.key)].index(entry)
    try:
        text = ordinary.whole(entry.file, _LARGEST).decode("utf-8", "surrogateescape")
    except OSError:  # the command line, standard input, a blob
        return None
    return line_of(text, entry.key, before)


def _with_entry(settings: Settings, entry: ConfigEntry, repo: Repository, environ: Mapping[str, str]) -> Settings:
    _, _, rest = entry.key.partition(".")
    engine, _, variable = rest.rpartition(".")
    if engine and variable == "binary":
        path = _expanded(_checked(entry, f"agent.{engine}.binary", bool, "the path of a program"), environ)
        return settings._replace(binaries={**settings.binaries, engine: path})
    if engine and variable == "args":
        words = (*settings.args.get(engine, ()), *_words(entry, f"agent.{engine}.args"))
        return settings._replace(args={**settings.args, engine: words})
    if variable == "mode":
        return _mode(settings, entry, engine)
    if engine and variable == "handovertokens":
        tokens = int(_checked(entry, f"agent.{engine}.handoverTokens", _COUNT.fullmatch, "a number of tokens"))
        return settings._replace(handover_tokens={**settings.handover_tokens, engine: tokens})
    reader = _READERS.get(rest)
    return reader(settings, entry, repo, environ) if reader else settings


def _mode(settings: Settings, entry: ConfigEntry, engine: str) -> Settings:
    """The mode of one engine, or of all others. An empty one leaves an engine out."""
    name = f"agent.{engine}.mode" if engine else "agent.mode"
    chosen = _checked(entry, name, ("", *MODES).__contains__, f"one of {', '.join(MODES)}")
    return settings._replace(modes={**settings.modes, engine: chosen})


def _engine(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    valid = re.compile(r"[a-z][a-z0-9-]*").fullmatch
    return settings._replace(engine=_checked(entry, "agent.engine", valid, "the name of an engine"))


def _fallback(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    expected = f"one of {', '.join(FALLBACKS)}"
    return settings._replace(fallback=_checked(entry, "agent.fallback", FALLBACKS.__contains__, expected))


def _continue_message(
    settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]
) -> Settings:
    text = _checked(entry, "agent.continueMessage", str.strip, "a message that is not blank")
    return settings._replace(continue_message=text)


def _directory(settings: Settings, entry: ConfigEntry, repo: Repository, environ: Mapping[str, str]) -> Settings:
    path = _expanded(_checked(entry, "agent.defaultDirectory", bool, "a directory"), environ)
    return settings._replace(default_directory=os.path.join(repo.top, path))


def _terminal(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    known = entry._replace(value=entry.value and entry.value.lower())
    return settings._replace(
        terminal=_checked(known, "agent.terminal", TERMINALS.__contains__, f"one of {', '.join(TERMINALS)}")
    )


def _stall_after(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    expected = "a positive number of seconds, or 90s, 5m, 1h"
    text = _checked(entry, "agent.stallAfter", duration, expected)
    return settings._replace(stall_after=duration(text) or 0.0)


def _hints(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    return settings._replace(hints=_switch(entry, "agent.hints"))


def _review_trust(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    return settings._replace(review_trust=_switch(entry, "agent.reviewTrust"))


def _hooks_max_cost(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    valid = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?").fullmatch
    text = _checked(entry, "agent.hooks.maxCost", valid, "US dollars a day, such as 5 or 0.50")
    return settings._replace(hooks_max_cost=float(text))


def _trailer(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    return settings._replace(trailer=_switch(entry, "agent.trailer"))


def _fix_link(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    return settings._replace(fix_link=(*settings.fix_link, *_words(entry, "agent.fix.link")))


def _share(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    shared = _checked(entry, "agent.share", ("links", "sessions").__contains__, "links or sessions")
    return settings._replace(share="sessions" if shared == "sessions" else "links")


def _trust_from(settings: Settings, entry: ConfigEntry, _repo: Repository, _environ: Mapping[str, str]) -> Settings:
    signer = _checked(entry, "agent.trustFrom", str.strip, "who signs, as git names them, or a key's fingerprint")
    return settings._replace(trust_from=(*settings.trust_from, signer))


_READERS: dict[str, Callable[[Settings, ConfigEntry, Repository, Mapping[str, str]], Settings]] = {
    "engine": _engine,
    "fallback": _fallback,
    "continuemessage": _continue_message,
    "defaultdirectory": _directory,
    "stallafter": _stall_after,
    "terminal": _terminal,
    "hints": _hints,
    "hooks.maxcost": _hooks_max_cost,
    "reviewtrust": _review_trust,
    "share": _share,
    "trustfrom": _trust_from,
    "trailer": _trailer,
    "fix.link": _fix_link,
}

# Git's own words for yes and no; a key without `=` is yes.
_SWITCHES = {**dict.fromkeys(("true", "yes", "on", "1"), True), **dict.fromkeys(("false", "no", "off", "0", ""), False)}


def _switch(entry: ConfigEntry, name: str) -> bool:
    known = entry._replace(value="true" if entry.value is None else entry.value.lower())
    return _SWITCHES[_checked(known, name, _SWITCHES.__contains__, "true or false")]


def _checked(entry: ConfigEntry, name: str, valid: Callable[[str], object], expected: str) -> str:
    if entry.value is None or not valid(entry.value):
        place = f"'{entry.file}'" if entry.file else "the command line"
        raise UserError(f"Invalid {name} in {place}; expected {expected}", code="invalid_setting")
    return entry.value


def _words(entry: ConfigEntry, name: str) -> list[str]:
    import shlex

    def splits(text: str) -> bool:
        try:
            return shlex.split(text) is not None
        except ValueError:
            return False

    return shlex.split(_checked(entry, name, splits, "words quoted as in a shell"))


def _expanded(path: str, environ: Mapping[str, str]) -> str:
    """A leading `~/` is the person's home, as in git's own path settings. Variables are not looked at."""
    home = environ.get("HOME")
    return os.path.join(home, path[2:]) if home and path.startswith("~/") else path


def _tracked(repo: Repository, entries: list[ConfigEntry], environ: Mapping[str, str]) -> list[ConfigEntry]:
    """The usual files cost nothing; git is asked for its work trees only when another file is included.

    A git directory that another repository holds as ordinary files is no place for a person's settings.
    """
    local = [entry for entry in entries if entry.scope in ("local", "worktree")]
    if local and outer(repo):
        return local
    usual = {"", *_usual_files(repo, environ)}
    unusual = [entry for entry in entries if entry.file not in usual and entry.scope != "system"]
    tops = [worktree.path for worktree in worktrees(repo)] if unusual else []
    return [entry for entry in unusual if any(inside_work_tree(repo, entry.file, top) for top in tops)]


def _untrusted(entry: ConfigEntry) -> NoReturn:
    raise UserError(
        f"{entry.key} comes from '{entry.file}', a file inside a work tree",
        code="untrusted_setting",
        hints=(f"set it yourself: git config --global {entry.key} <value>", "and remove it from that file"),
    )


def _usual_files(repo: Repository, environ: Mapping[str, str]) -> list[str]:
    home = environ.get("HOME", "")
    xdg = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    named = environ.get("GIT_CONFIG_GLOBAL", "")
    own = [f"{repo.common_dir}/config", f"{repo.common_dir}/config.worktree", f"{repo.git_dir}/config.worktree"]
    theirs = [named, os.path.join(home, ".gitconfig"), os.path.join(xdg, "git/config")]
    return [*(file for file in own if not os.path.islink(file)), *theirs]


def inside_work_tree(repo: Repository, file: str, top: str) -> bool:
    """`.git/` lies in the work tree too and is not part of it; a work tree may lie in a bare repository's directory."""
    ways = (os.path.realpath(file), os.path.join(os.path.realpath(os.path.dirname(file)), os.path.basename(file)))
    dirs = [path for path in (repo.common_dir, repo.git_dir) if _inside(path, top)]
    return any(_inside(way, top) and not any(_inside(way, path) for path in dirs) for way in ways)


def _inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
