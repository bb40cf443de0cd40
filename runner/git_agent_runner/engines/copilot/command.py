"""GitHub Copilot CLI: how it is started and resumed. Its flags: `copilot_flags.py`. Its sessions: `copilot_store.py`.

Boundaries are those of its own changelog, which it unpacks beside itself; tried is 1.0.102.
"""

from __future__ import annotations

import re

from git_agent_extractors.model import Refusal
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines import files
from git_agent_runner.engines.arguments import parse, passed
from git_agent_runner.engines.copilot import store
from git_agent_runner.engines.copilot.flags import CHOOSING, DIRECTORY, JSON, MODES, OPTIONS, SESSION_ID
from git_agent_runner.engines.spec import (
    Allowance,
    Engine,
    KnownBad,
    Launch,
    Option,
    Version,
    dotted,
    parse_version,
    within,
)

_SAVED: Version = (1, 0, 52)  # "Sessions now resume in their saved working directory; pass -C <dir> to override"
# What `--resume` cannot are beside: "the argument '--resume [<value>]' cannot be used with …" (1.0.102).
_NEW_ONLY = frozenset({"--name", "--trust-folder"})
_REFUSED = {
    "--worktree": (
        "works on a branch of its own, which is not this run's",
        "make the worktree with 'git worktree add'",
    ),
    "--config-dir": ("moves its sessions to a place that is not searched", "set COPILOT_HOME to that directory"),
}

# Every command that 1.0.102 names was sent, each in a new session: these it carries out in prompt mode too, also behind
# white space. `/compact` puts a summary in the conversation's place, the others make it continue until it says it is
# done.
_COMMANDS = re.compile(r"\s*/(autopilot|compact|goal)(?=\s|\Z)")


def _start(launch: Launch) -> Invocation:
    """stdin carries the text: dashes, quotes, slashes, line ends, emoji; white space at its end is cut off by copilot.

    `@file` and, but for `_COMMANDS`, `/command` are plain text in prompt mode (1.0.102).
    """
    if launch.version < JSON:
        raise UserError(
            f"copilot {dotted(launch.version)} has no '--output-format json': its output names no session",
            code="engine_too_old",
            hints=("install a newer one: npm install -g @github/copilot",),
        )
    selector = (f"--session-id={launch.session}",) if launch.session else ()
    return _invocation(launch, selector, _flags(launch.args))


def _resume(launch: Launch) -> Invocation:
    """Raises UserError for a session that is no UUID: copilot would take a part of one, or a name (resume-prefix).

    Without `-C` tools run in the session's last directory, wherever it is started (resume-other-cwd).
    """
    if not launch.session or not files.UUID.fullmatch(launch.session):
        raise UserError(
            f"copilot cannot resume {launch.session!r}: its session ids are lower-case UUIDs", code="session_malformed"
        )
    directory = ("-C", launch.cwd) if launch.version >= DIRECTORY else ()
    return _invocation(launch, (*directory, f"--resume={launch.session}"), _flags(launch.args, _NEW_ONLY))


def _picker(launch: Launch) -> Invocation:
    """Raises UserError for a message: a list is no place for one."""
    if launch.message is not None:
        raise UserError("copilot's picker takes no message", code="message_refused", hints=("give it in the terminal",))
    return _invocation(launch, ("--resume",), _flags(launch.args, _NEW_ONLY))


def _invocation(launch: Launch, selector: tuple[str, ...], flags: tuple[str, ...]) -> Invocation:
    if launch.interactive:
        prompt = (f"--interactive={launch.message}",) if launch.message is not None else ()
        return Invocation((launch.binary, *flags, *selector, *prompt), None, launch.cwd)
    argv = (launch.binary, *flags, "--output-format", "json", *selector)
    return Invocation(argv, launch.message.encode() if launch.message is not None else None, launch.cwd)


def _flags(args: tuple[str, ...], without: frozenset[str] = frozenset()) -> tuple[str, ...]:
    words = parse(OPTIONS, passed(OPTIONS, args))
    for word in words:
        for name in _names(word.option) & _REFUSED.keys():
            why, hint = _REFUSED[name]
            raise UserError(f"copilot {name} {why}", code="flag_refused", hints=(hint,))
    return tuple(text for word in words if not _names(word.option) & without for text in word.words)


def _names(option: Option | None) -> frozenset[str]:
    return frozenset(option.names if option else ())


def _check_message(_version: Version, message: str) -> None:
    """Raises UserError for what copilot would carry out instead of sending it."""
    if found := _COMMANDS.match(message):
        raise UserError(
            f"this message starts with '/{found[1]}': copilot takes that as a command of its own",
            code="message_refused",
            hints=("put a word before the slash to send it as text",),
        )


def _launch_note(_version: Version, args: tuple[str, ...]) -> str | None:
    if any("--trust-folder" in _names(word.option) for word in parse(OPTIONS, args)):
        return "copilot takes --trust-folder for a new session only: a resume runs without it"
    return None


def _mint(version: Version) -> str | None:
    if version < SESSION_ID:
        return None
    from uuid import uuid4

    return str(uuid4())


def _elsewhere(version: Version, _same_repository: bool) -> bool:
    """From 1.0.52 to where `-C` says; before 1.0.52 a session continues where copilot is started."""
    return within(version, JSON, None)


def _elsewhere_note(version: Version) -> str | None:
    return f"copilot {dotted(version)} moves the session here" if version >= _SAVED else None


def _allow(_version: Version, _args: tuple[str, ...], _refused: tuple[Refusal, ...]) -> tuple[Allowance, ...]:
    return (Allowance("every tool", ("--allow-all-tools",)),)


ENGINE = Engine(
    name="copilot",
    field="sessionId",
    binary="copilot",
    install="npm install -g @github/copilot",
    login="start copilot and type /login, or set COPILOT_GITHUB_TOKEN",
    id_pattern=files.UUID,
    options=OPTIONS,
    first_resume=(0, 0, 372),
    bad=(
        KnownBad(
            "it has no '--output-format json', so its output cannot be distinguished from a new session's", until=JSON
        ),
    ),
    interactive="verified",
    start=_start,
    resume=_resume,
    # `--continue` takes the newest session of all directories where this one has none (continue-other-cwd).
    continue_=None,
    picker=_picker,
    check_message=_check_message,
    mint=_mint,
    forks=lambda _version, _args: False,
    elsewhere=_elsewhere,
    locate=store.locate,
    store=store.store,
    turns=store.turns,
    ended=store.ended,
    created_since=store.created_since,
    # The prompt is on disk before the model answers (kill-SIGTERM-resume).
    first_reply_lost=lambda _version: None,
    parse_version=parse_version,
    elsewhere_note=_elsewhere_note,
    launch_note=_launch_note,
    stored=store.stored,
    laid=store.laid,
    root=store.root,
    writer=store.writer,
    allow=_allow,
    modes=MODES,
    choosing=CHOOSING,
)
