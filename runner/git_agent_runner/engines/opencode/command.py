"""OpenCode: how it is started and resumed, and what its versions take. Its session store: `opencode_store.py`.

Boundaries lie between recorded versions (0.5.29, 1.0.185, 1.1.34, 1.2.27, 1.14.41, 1.15.13, 1.17.18, 1.18.33). Where
the exact release is not known, a flag is let through in the gap and the engine has the last word.
"""

from __future__ import annotations

import re

from git_agent_extractors.model import Refusal
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import parse, passed, rejected
from git_agent_runner.engines.opencode import store
from git_agent_runner.engines.spec import (
    Allowance,
    Engine,
    KnownBad,
    Launch,
    ModeFlags,
    Option,
    Version,
    dotted,
    parse_version,
)

_CHOOSING = ("--auto", "--dangerously-skip-permissions")
_MODES = (
    ModeFlags("edit", ()),  # its default
    ModeFlags("full", ("--auto",), since=(1, 16)),
    ModeFlags("full", ("--dangerously-skip-permissions",), since=(1, 3)),
)
OPTIONS = (
    Option(("--model", "-m"), "one", "model", source="opencode/*/flags-start"),
    Option(("--agent",), "one", widens=True, source="opencode/*/help"),
    Option(("--variant",), "one", since=(1, 1), source="opencode/*/help-run"),
    Option(("--thinking",), "none", since=(1, 2), source="opencode/*/help-run"),
    Option(("--title",), "one", since=(1, 0), source="opencode/*/help-run"),
    # yargs array: it eats the words after it ("File not found: word" on 1.2.27 and 1.18.33).
    Option(("--file", "-f"), "many", "attachment", since=(1, 0), widens=True, source="opencode/*/help-run"),
    Option(("--command",), "one", "prompt", since=(1, 0), source="opencode/*/help-run"),
    Option(("--prompt",), "one", "prompt", source="opencode/1.18.33/help"),
    Option(("--format",), "one", "format", since=(1, 0), source="opencode/*/pty"),
    Option(("--session", "-s"), "one", "selector", source="opencode/*/resume-empty"),
    Option(("--continue", "-c"), "none", "selector", source="opencode/*/continue"),
    Option(("--fork",), "none", "selector", since=(1, 2), source="opencode/1.18.33/fork"),
    Option(("--dir",), "one", "directory", since=(1, 2), source="opencode/*/help-run"),
    Option(("--auto",), "none", "permission", since=(1, 16), widens=True, source="opencode/*/help"),
    # Gone from the help of 1.17.18, still taken by 1.18.33.
    Option(
        ("--dangerously-skip-permissions",),
        "none",
        "permission",
        since=(1, 3),
        widens=True,
        source="opencode/*/help-run",
    ),
    Option(("--share",), "none", widens=True, source="opencode/*/help-run"),
    Option(("--attach",), "one", "store", since=(1, 0), widens=True, source="opencode/*/help-run"),
    Option(("--password", "-p"), "one", since=(1, 2), widens=True, source="opencode/*/help-run"),
    Option(("--username", "-u"), "one", since=(1, 3), widens=True, source="opencode/*/help-run"),
    Option(("--port",), "one", since=(1, 0), widens=True, source="opencode/*/help"),
    Option(("--pure",), "none", since=(1, 3), widens=True, source="opencode/*/help"),
    Option(("--print-logs",), "none", source="opencode/*/help"),
    Option(("--log-level",), "one", source="opencode/*/help"),
    Option(("--interactive", "-i"), "none", "interactive", since=(1, 15), source="opencode/*/help-run"),
    Option(("--replay",), "none", "interactive", since=(1, 15), source="opencode/1.15.13/help-run"),
    Option(("--no-replay",), "none", "interactive", since=(1, 16), source="opencode/1.17.18/help"),
    Option(("--replay-limit",), "one", "interactive", since=(1, 15), source="opencode/*/help"),
    Option(("--demo",), "none", "interactive", since=(1, 15), source="opencode/1.15.13/help-run"),
    Option(("--mini",), "none", "interactive", since=(1, 16), source="opencode/1.18.33/help"),
    Option(("--version", "-v"), "none", "exit", source="opencode/*/help"),
    Option(("--help", "-h"), "none", "exit", source="opencode/*/help"),
)

# The terminal form takes these and no other launch flags (opencode/1.18.33/help).
_TERMINAL = {"--model", "--agent", "--auto", "--port", "--pure", "--print-logs", "--log-level"}

ID_PATTERN = re.compile(r"ses_[0-9A-Za-z]{26}")

_JSON: Version = (1, 0)
_DIR: Version = (1, 2)  # 1.1.34 has no --dir, 1.2.27 has
_MINI: Version = (1, 16)  # 1.15.13 has no --mini, 1.17.18 has
_BOUND: Version = (1, 15)  # 1.14.41 works anywhere; from 1.15.13 output is lost in any other directory


def _start(launch: Launch) -> Invocation:
    if launch.version < _JSON:
        raise UserError(
            f"opencode {dotted(launch.version)} has no 'run --format json': its output names no session",
            code="engine_too_old",
            hints=("install a newer one: npm install -g opencode-ai",),
        )
    return _invocation(launch, ())


def _resume(launch: Launch) -> Invocation:
    """Raises UserError for a value that opencode would not know: an empty one starts a new session silently."""
    if not launch.session or not ID_PATTERN.fullmatch(launch.session):
        raise UserError(
            f"opencode cannot resume {launch.session!r}: its session ids are 'ses_' and 26 letters or digits",
            code="session_malformed",
        )
    fork = ("--fork",) if _forks(launch.version, launch.args) else ()
    return _invocation(launch, (f"--session={launch.session}", *fork))


def _continue(launch: Launch) -> Invocation:
    """With no session in this directory opencode starts a new one silently (continue-fresh-project)."""
    return _invocation(launch, ("--continue",))


def _invocation(launch: Launch, selector: tuple[str, ...]) -> Invocation:
    """The message goes in by stdin: a word of argv that holds a space would be put in quotes (prompt-multiword-argv).

    stdin arrives byte for byte from 1.15.13 on; 1.14.41 and before put one line end in front of it.

    opencode asks PWD, not the process, where it is (opencode/1.18.33/pwd-env-mismatch). From 1.15.13 it finds a
    session only in the directory of the session, or prints nothing (dirfix-*); before, tools run where it is started.
    """
    bound = launch.version >= _BOUND and launch.session is not None
    cwd = (launch.session_cwd or launch.cwd) if bound else launch.cwd
    env = (("PWD", cwd),)
    if launch.interactive:
        argv = (launch.binary, *_terminal_flags(launch.args), *selector, *_terminal_prompt(launch, selector))
        return Invocation(argv, None, cwd, env)
    directory = (f"--dir={cwd}",) if launch.version >= _DIR else ()
    argv = (launch.binary, "run", "--format", "json", *passed(OPTIONS, launch.args), *selector, *directory)
    return Invocation(argv, launch.message.encode() if launch.message is not None else None, cwd, env)


def _terminal_prompt(launch: Launch, selector: tuple[str, ...]) -> tuple[str, ...]:
    """The full terminal form ignores `--prompt` beside `--session`; `--mini` sends it (docs/engines/interactive.md)."""
    if launch.message is None:
        return ()
    if selector and launch.version < _MINI:
        raise UserError(
            f"opencode {dotted(launch.version)} would open the session without this message",
            code="message_refused",
            hints=("leave -i or the message out",),
        )
    return (*(["--mini"] if selector else []), f"--prompt={launch.message}")


def _terminal_flags(args: tuple[str, ...]) -> tuple[str, ...]:
    """Raises UserError for a flag that only `opencode run` takes."""
    words = parse(OPTIONS, passed(OPTIONS, args))
    strange = [word.name for word in words if not (word.option and _TERMINAL.intersection(word.option.names))]
    if strange:
        raise UserError(
            f"the terminal form of opencode does not take {', '.join(strange)}",
            code="flag_rejected",
            hints=("resume this run with a message instead",),
        )
    return tuple(text for word in words for text in word.words)


def _check_message(_version: Version, message: str) -> None:
    """Raises UserError for the one text that 1.2.27 to 1.18.33 altered: a byte order mark in front is dropped.

    Dashes, `/clear`, `@file`, quotes, line ends, emoji and 200 kB arrive as they are.
    """
    if message.startswith("\ufeff"):
        raise UserError(
            "this message starts with a byte order mark (U+FEFF), which opencode drops",
            code="message_refused",
            hints=("leave the mark out",),
        )


def _forks(_version: Version, args: tuple[str, ...]) -> bool:
    return any(word.option is not None and "--fork" in word.option.names for word in parse(OPTIONS, args))


def _import(launch: Launch, document: str) -> Invocation:
    """The session becomes one of the directory that it is imported in (1.18.33)."""
    cwd = launch.session_cwd or launch.cwd
    return Invocation((launch.binary, "import", document), None, cwd, (("PWD", cwd),))


def _elsewhere(version: Version, same_repository: bool) -> bool:
    """resume-subdir, resume-from-worktree and resume-other-cwd of each version: 1.0 and 1.1 hang in another repository.

    1.15.13 does the turn in the session's directory and prints nothing; 1.17.18 and later never end.
    """
    if version < _DIR:
        return version >= _JSON and same_repository
    return version < _BOUND


def _elsewhere_note(version: Version) -> str | None:
    if not _elsewhere(version, same_repository=True):
        return None
    return f"opencode {dotted(version)} runs its tools here, not in the session's first directory"


def _allow(version: Version, _args: tuple[str, ...], _refused: tuple[Refusal, ...]) -> tuple[Allowance, ...]:
    """What a rule of the person's own forbids stays forbidden: both flags say yes where opencode would ask."""
    taken = [name for name in _CHOOSING if not rejected(OPTIONS, (name,), version)]
    return (Allowance("whatever it asks for", (taken[0],)),) if taken else ()


ENGINE = Engine(
    name="opencode",
    field="sessionID",
    binary="opencode",
    install="npm install -g opencode-ai",
    login="run opencode auth login",
    id_pattern=ID_PATTERN,
    options=OPTIONS,
    first_resume=(0, 5),
    bad=(
        KnownBad(
            "it has no 'run --format json', so its output cannot be distinguished from a new session's", until=_JSON
        ),
    ),
    interactive="verified",
    start=_start,
    resume=_resume,
    continue_=_continue,
    check_message=_check_message,
    mint=lambda _version: None,
    forks=_forks,
    elsewhere=_elsewhere,
    locate=store.locate,
    store=store.store,
    turns=store.turns,
    ended=store.ended,
    created_since=store.created_since,
    # The prompt is stored before the model answers (kill-SIGKILL-resume of 1.0.185 to 1.18.33).
    first_reply_lost=lambda _version: None,
    parse_version=parse_version,
    elsewhere_note=_elsewhere_note,
    laid=store.laid,
    root=store.root,
    export=store.export,
    import_=_import,
    importable=store.importable,
    allow=_allow,
    modes=_MODES,
    choosing=_CHOOSING,
)
