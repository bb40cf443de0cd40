"""Codex CLI: how it is started and resumed, and what its versions take. Its session files: `codex_store.py`.

A flag's range comes from the help of 0.29.0, 0.36.0, 0.44.0, 0.47.0, 0.53.0, 0.65.0, 0.79.0, 0.98.0, 0.117.0, 0.128.0,
0.150.0 and 0.171.0. Where the exact release is not known, a flag is let through in the gap and the engine has the
last word.
"""

from __future__ import annotations

from git_agent_extractors.model import Refusal
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import find, parse, passed
from git_agent_runner.engines.codex import sandbox, store
from git_agent_runner.engines.codex.flags import CHOOSING, MODES, OPTIONS
from git_agent_runner.engines.files import UUID
from git_agent_runner.engines.spec import (
    Allowance,
    Engine,
    Launch,
    StoreQuery,
    Version,
    dotted,
    parse_version,
    within,
)

# `codex exec` rejects the first, `codex` and `codex resume` the second (0.65.0, 0.128.0, 0.171.0: exit 2).
_TERMINAL_ONLY = {"--ask-for-approval", "--search", "--no-alt-screen"}
_EXEC_ONLY = {
    "--skip-git-repo-check",
    "--ignore-rules",
    "--ignore-user-config",
    "--trust",
    "--cyber-access-program",
    "--output-last-message",
    "-o",
    "--output-schema",
    "--thread-source",
    "--include-plan-tool",
    "--ephemeral",
}

# Versions in which one form takes a flag and the other does not: `codex exec` lacks the first (help of 0.116.0 to
# 0.128.0), `codex` and `codex resume` the second (help of 0.128.0).
_NOT_IN_EXEC = {"--remote": ((0, 99), (0, 129)), "--remote-auth-token-env": ((0, 99), (0, 129))}
_NOT_IN_TERMINAL = {"--full-auto": ((0, 128), (0, 150))}

_LONGEST_MESSAGE = 1_048_576  # characters; 0.128.0 and 0.171.0 refuse more, after they printed a thread id
_LIMITED: Version = (0, 128)  # 0.98.0 takes more
_NO_MARK: Version = (0, 98)  # 0.65.0 keeps a leading U+FEFF
_DAEMON: Version = (0, 171)  # 0.150.0 does not know --no-daemon
_LAST_OF_DIRECTORY: Version = (0, 94)  # before, `--last` is the newest of any directory (10b-last-other-cwd)


def _start(launch: Launch) -> Invocation:
    """stdin carries the text byte for byte (0.65.0, 0.128.0, 0.171.0): `-`, dashes, `/clear`, line ends, 200 kB."""
    if launch.interactive:
        return _terminal(launch)
    return _headless(launch)


def _resume(launch: Launch) -> Invocation:
    """Flags are before `resume`, where every version takes them and they take effect (12-*-before, pitfall 10).

    Raises UserError for a session that is no UUID: codex would start a new one and exit 0 (pitfall 3).
    """
    if not launch.session or not UUID.fullmatch(launch.session):
        raise UserError(
            f"codex cannot resume {launch.session!r}: its thread ids are lower-case UUIDs", code="session_malformed"
        )
    if launch.interactive:
        return _terminal(launch, "resume", session=launch.session)
    return _headless(launch, "resume", launch.session)


def _continue(launch: Launch) -> Invocation:
    """Raises UserError where `--last` would be another directory's session.

    With no session here codex starts a new one silently (y10-fresh-last-none).
    """
    if launch.version < _LAST_OF_DIRECTORY:
        raise UserError(
            f"codex {dotted(launch.version)} continues the newest session of any directory, not of this one",
            code="resume_unsupported",
            hints=(f"{dotted(_LAST_OF_DIRECTORY)} is the first version that keeps to the directory",),
        )
    if launch.interactive:
        return _terminal(launch, "resume", session="--last")
    return _headless(launch, "resume", "--last")


def _picker(launch: Launch) -> Invocation:
    """Raises UserError for a message: a word after `resume` would be taken for a session."""
    if launch.message is not None:
        raise UserError("codex's picker takes no message", code="message_refused", hints=("give it in the terminal",))
    return _terminal(launch, "resume")


def _headless(launch: Launch, *form: str) -> Invocation:
    stdin = launch.message.encode() if launch.message is not None else None
    return Invocation((launch.binary, "exec", *_flags(launch), "--json", *form, "-"), stdin, launch.cwd)


def _terminal(launch: Launch, *form: str, session: str | None = None) -> Invocation:
    """After `--` a prompt is no flag and no subcommand (18h-ddash, 18j-resume-ddash; `codex -- resume`, 0.171.0).

    Without --no-daemon 0.171.0 hands the session to a server that stays behind and holds it (interactive-*).
    """
    own = ("--no-daemon",) if launch.version >= _DAEMON else ()
    selector = (session,) if session is not None else ()
    prompt = ("--", launch.message) if launch.message is not None else ()
    return Invocation((launch.binary, *form, *own, *_flags(launch), *selector, *prompt), None, launch.cwd)


def _flags(launch: Launch) -> tuple[str, ...]:
    """Raises UserError for a flag that the other form of codex takes and this one does not."""
    flags = passed(OPTIONS, launch.args)
    lacking = _NOT_IN_TERMINAL if launch.interactive else _NOT_IN_EXEC
    foreign = {name for name, (since, until) in lacking.items() if within(launch.version, since, until)}
    foreign |= _EXEC_ONLY if launch.interactive else _TERMINAL_ONLY
    strange = [word.name for word in parse(OPTIONS, flags) if word.option and foreign.intersection(word.option.names)]
    if strange:
        form = "the terminal form of codex" if launch.interactive else "codex exec"
        other = "resume with a message instead" if launch.interactive else "work in the terminal (-i)"
        raise UserError(
            f"{form} does not take {', '.join(strange)}",
            code="flag_rejected",
            hints=(f"{other}, or give the setting as -c KEY=VALUE",),
        )
    return flags


def _check_message(version: Version, message: str) -> None:
    """Raises UserError for what this version would not take, or alter. Slash text, `@file` and `!` are plain text."""
    if version >= _LIMITED and len(message) > _LONGEST_MESSAGE:
        raise UserError(
            f"the message has {len(message)} characters; codex {dotted(version)} takes {_LONGEST_MESSAGE}",
            code="message_too_large",
            hints=("put the text in a file and name the file in the message",),
        )
    if version >= _NO_MARK and message.startswith("\ufeff"):
        raise UserError(
            "this message starts with a byte order mark (U+FEFF), which codex drops",
            code="message_refused",
            hints=("leave the mark out",),
        )


def _elsewhere_note(version: Version) -> str | None:
    """Pitfall 21: 0.65.0 repeats the old directory and sandbox to the model, 0.98.0 tells it the new ones."""
    if version >= (0, 98):
        return None
    return f"codex {dotted(version)} runs here, but still reports the session's first directory to the model"


def _launch_note(version: Version, args: tuple[str, ...]) -> str | None:
    """Pitfall 20 (codex/0.128.0/13b, 13e): what one run was allowed, every later one in this directory then is."""
    if not within(version, (0, 120), (0, 171)) or not find(OPTIONS, args, "permission"):
        return None
    return f"codex {dotted(version)} marks directories it may write in as trusted in its own config.toml"


def _chosen(args: tuple[str, ...]) -> bool:
    """Has the person chosen a sandbox?"""
    modes = {"--sandbox", "--full-auto", "--yolo", "--profile", "--approve-for-me"}
    words = parse(OPTIONS, args)
    named = any(word.option and modes.intersection(word.option.names) for word in words)
    return named or any(value.startswith("sandbox_mode") for word in words for value in word.values)


def _limits(query: StoreQuery, args: tuple[str, ...]) -> tuple[Refusal, ...]:
    """Of a short command that failed 0.171.0 prints nothing; its session tells the sandbox of each turn."""
    read_only = not _chosen(args) and sandbox.kind(store.locate(query).path) == "read-only"
    return (Refusal("write access", "its sandbox is read-only"),) if read_only else ()


def _allow(_version: Version, args: tuple[str, ...], _refused: tuple[Refusal, ...]) -> tuple[Allowance, ...]:
    return () if _chosen(args) else (Allowance("writing in the work tree", ("--sandbox", "workspace-write")),)


ENGINE = Engine(
    name="codex",
    field="thread_id",
    binary="codex",
    install="npm install -g @openai/codex",
    id_pattern=UUID,
    options=OPTIONS,
    first_resume=(0, 36),
    bad=(),
    interactive="verified",
    start=_start,
    resume=_resume,
    continue_=_continue,
    picker=_picker,
    check_message=_check_message,
    mint=lambda _version: None,
    forks=lambda _version, _args: False,
    elsewhere=lambda _version, _same_repository: True,
    locate=store.locate,
    store=store.store,
    turns=store.turns,
    ended=store.ended,
    created_since=store.created_since,
    # Resumable in every version once its prompt is on disk (17-kill-SIGKILL-resume); before that its file has no turn.
    first_reply_lost=lambda _version: None,
    parse_version=parse_version,
    elsewhere_note=_elsewhere_note,
    launch_note=_launch_note,
    trust="--skip-git-repo-check",
    login="run codex login",
    stored=store.stored,
    laid=store.laid,
    root=store.root,
    writer=store.writer,
    limits=_limits,
    allow=_allow,
    modes=MODES,
    choosing=CHOOSING,
)
