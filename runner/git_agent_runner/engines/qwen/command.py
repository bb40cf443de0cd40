"""Qwen Code: how it is started and resumed. Its flags: `qwen_flags.py`. Its session files: `qwen_store.py`.

It descends from Gemini CLI, but keeps its sessions and prints its events as Claude Code does.
"""

from __future__ import annotations

import re

from git_agent_extractors.model import Refusal
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines import files
from git_agent_runner.engines.arguments import parse, passed
from git_agent_runner.engines.qwen import store
from git_agent_runner.engines.qwen.flags import CHOOSING, MODES, OPTIONS
from git_agent_runner.engines.spec import Allowance, Engine, Launch, Option, Version, parse_version

MINTS: Version = (0, 24)  # 0.10.1 has no --session-id, 0.24.4 has (qwen/*/session-id-flag)
_LONGEST_WORD = 100_000  # bytes; Linux takes 128 KiB in one argument, and quotes may double some
STDIN_LIMIT = 8_388_608  # bytes; "stdin input truncated" (tried on 0.24.4, and 9 MB made no model call)

_CARRIES_OUT: Version = (0, 5, 3)  # 0.5.2 sends each of its commands to the model as it stands
# The commands of 0.24.4, tried one by one: qwen carries them out or says that they are "not supported in this mode",
# and the model is never asked. Those that write a prompt (`/init`, `/goal`, a skill, the
# person's own) reach it as that prompt, as the person asked. Any other slash text is sent as it stands.
_COMMANDS = re.compile(
    r"\?|about|advisor|agents|approval-mode|arena|auth|branch|btw|bug|cd|clear|compress|compress-fast|config|connect"
    r"|continue|copy|curator|delete|diff|dir|directory|docs|doctor|dream|editor|effort|exit|export|extensions|forget|fork|help"
    r"|history|hooks|ide|import-config|language|learn|login|mcp|memory|model|new|output-style|peers|permissions|plan"
    r"|quit|recap|reload-plugins|remember|rename|reset|resume|rewind|rollback|settings|setup-github|skills|stats"
    r"|status|statusline|summarize|summary|tag|tasks|terminal-setup|theme|tools|update|usage|vim|voice"
)


def _start(launch: Launch) -> Invocation:
    """A message of up to `_LONGEST_WORD` arrives byte for byte (0.5.2, 0.24.4): dashes, quotes, line ends, emoji.

    A larger one goes in by stdin, and qwen puts two line ends behind what it reads there. `@name` of a file that
    exists is kept, and the file's content added behind it.
    """
    kept = tuple(
        text
        for word in parse(OPTIONS, launch.args)
        if not _named(word.option, "--fork-session")  # "Must be used with --resume or --continue"
        for text in word.words
    )
    return _invocation(launch._replace(args=kept), (f"--session-id={launch.session}",) if launch.session else ())


def _resume(launch: Launch) -> Invocation:
    """Never with --session-id beside --resume. Raises UserError for a session that is no UUID.

    0.24.4 searches titles for any other word, and an empty one opens a list and exits 0 (resume-empty).
    """
    if not launch.session or not files.UUID.fullmatch(launch.session):
        raise UserError(
            f"qwen cannot resume {launch.session!r}: its session ids are lower-case UUIDs", code="session_malformed"
        )
    return _invocation(launch, (f"--resume={launch.session}",))


def _continue(launch: Launch) -> Invocation:
    """With no session in this directory qwen starts a new one silently (continue-fresh)."""
    return _invocation(launch, ("--continue",))


def _picker(launch: Launch) -> Invocation:
    """Raises UserError for a message: a list is no place for one."""
    if launch.message is not None:
        raise UserError("qwen's picker takes no message", code="message_refused", hints=("give it in the terminal",))
    return _invocation(launch, ("--resume",))


def _invocation(launch: Launch, selector: tuple[str, ...]) -> Invocation:
    argv = (launch.binary, *_flags(launch.args))
    if launch.interactive:
        prompt = (f"--prompt-interactive={_word(launch.message)}",) if launch.message is not None else ()
        return Invocation((*argv, *selector, *prompt), None, launch.cwd)
    argv = (*argv, "--output-format", "stream-json", *selector)
    message = launch.message or ""
    if len(message.encode()) > _LONGEST_WORD:
        return Invocation(argv, message.encode(), launch.cwd)
    return Invocation((*argv, f"--prompt={_word(message)}"), None, launch.cwd)


def _word(message: str) -> str:
    """The value of a flag as yargs reads it: it takes off one pair of quotes around it (tried on 0.5.2, 0.24.4)."""
    wrapped = len(message) > 1 and message[0] in "'\"" and message[-1] == message[0]
    return f'"{message}"' if wrapped else message


def _flags(args: tuple[str, ...]) -> tuple[str, ...]:
    """The person's flags, with one approval mode: qwen refuses --yolo beside --approval-mode (tried on 0.24.4)."""
    words = parse(OPTIONS, passed(OPTIONS, args))
    if any(_named(word.option, "--worktree") for word in words):
        raise UserError(
            "qwen --worktree works on a branch of its own, which is not this run's",
            code="flag_refused",
            hints=("make the worktree with 'git worktree add' and start the run there",),
        )
    modes = [at for at, word in enumerate(words) if _named(word.option, "--yolo", "--approval-mode")]
    return tuple(text for at, word in enumerate(words) if at not in modes[:-1] for text in word.words)


def _named(option: Option | None, *names: str) -> bool:
    return option is not None and not set(names).isdisjoint(option.names)


def _check_message(version: Version, message: str) -> None:
    """Raises UserError for what qwen would carry out instead of sending it, or cut off. See `_COMMANDS`."""
    # `//` and `/*` begin comments; a blank in front makes it text.
    found = re.match(r"/(?![/*])\s*(\S+)", message)
    if version >= _CARRIES_OUT and found and _COMMANDS.fullmatch(found[1]):
        raise UserError(
            f"this message starts with '/{found[1]}': qwen takes that as a command of its own",
            code="message_refused",
            hints=("put a space before the slash to send it as text",),
        )
    size = len(message.encode())
    if size > STDIN_LIMIT:
        raise UserError(
            f"the message has {size} bytes; qwen reads {STDIN_LIMIT} and drops the rest",
            code="message_too_large",
            hints=("put the text in a file and name the file in the message",),
        )


def _message_note(launch: Launch) -> str | None:
    """A space goes before each `@` that stands within a word or begins a line (0.5.2, 0.24.4: `mail a@b.c`)."""
    found = re.search(r"[^\s@]*(?<=[^ @\\])@\S*", launch.message or "")
    return f"qwen puts a space before the @ of '{found[0]}', unless a backslash is there" if found else None


def _mint(version: Version) -> str | None:
    if version < MINTS:
        return None
    from uuid import uuid4

    return str(uuid4())


def _forks(_version: Version, args: tuple[str, ...]) -> bool:
    return any(_named(word.option, "--fork-session") for word in parse(OPTIONS, args))


def _allow(_version: Version, args: tuple[str, ...], _refused: tuple[Refusal, ...]) -> tuple[Allowance, ...]:
    if _chosen(args):
        return ()
    return (Allowance("edits", ("--approval-mode", "auto-edit")), Allowance("edits and commands", ("--yolo",)))


def _chosen(args: tuple[str, ...]) -> bool:
    """Has the person chosen what may be done without being asked?"""
    return any(_named(word.option, *CHOOSING) for word in parse(OPTIONS, args))


ENGINE = Engine(
    name="qwen",
    field="session_id",
    binary="qwen",
    install="npm install -g @qwen-code/qwen-code",
    login="start qwen and type /auth, or set OPENAI_API_KEY",
    id_pattern=files.UUID,
    options=OPTIONS,
    first_resume=(0, 5),
    bad=(),
    interactive="verified",
    start=_start,
    resume=_resume,
    continue_=_continue,
    picker=_picker,
    check_message=_check_message,
    mint=_mint,
    forks=_forks,
    # resume-subdir and resume-other-cwd of 0.5.2, 0.10.1 and 0.24.4: "No saved session found".
    elsewhere=lambda _version, _same_repository: False,
    locate=store.locate,
    store=store.store,
    turns=store.turns,
    ended=store.ended,
    created_since=store.created_since,
    # The prompt is on disk before the model answers (kill-SIGKILL-resume of all three).
    first_reply_lost=lambda _version: None,
    parse_version=parse_version,
    elsewhere_note=lambda _version: None,
    stored=store.stored,
    laid=store.laid,
    root=store.root,
    allow=_allow,
    modes=MODES,
    choosing=CHOOSING,
    message_note=_message_note,
)
