"""Claude Code: how it is started and resumed, and what its versions take.

Its flags: `claude_flags.py`. Its session files: `claude_store.py`.
"""

from __future__ import annotations

import re

from git_agent_extractors.model import Refusal
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines import retention
from git_agent_runner.engines.arguments import parse, passed
from git_agent_runner.engines.claude import store
from git_agent_runner.engines.claude.flags import CHOOSING, MODES, OPTIONS
from git_agent_runner.engines.files import UUID
from git_agent_runner.engines.spec import Allowance, Engine, Launch, Version, dotted, parse_version

_MINTS: Version = (1, 0, 60)
_KEEPS_ID: Version = (1, 0, 124)  # 1.0.123 gives every resume a new id (pitfall 6)
_KEEPS_FIRST_TURN: Version = (2, 1, 73)
_LONGEST_MESSAGE = 10 * 1024 * 1024  # bytes; "piped stdin input exceeds 10MB" (2.1.200, 2.1.332)

# Slash text, in two shapes. 2.1.200 answers any word that could be a command's name itself; 2.1.76 the bare slash, too.
# A path (`/usr/bin/env is broken`), `//` and a blank before the slash are plain text in every version tried.
_WORD = re.compile(r"/([\w:-]*)(?=\s|$)", re.ASCII)
_SENDS_UNKNOWN: Version = (2, 1, 332)
# From 2.1.332 an unknown word is sent. These are not: claude carries them out or says that they are not available,
# and the model is never called. Tried one by one on 2.1.332; names are taken in lower case only. The commands that
# write a prompt (`/review`, `/init`, a skill, the person's own) reach the model as that prompt, as the person asked.
_COMMANDS = (
    "__remote-workflow|access|add-dir|advisor|agents|allowed-tools|android|app|artifacts|auto-mode-setup|"
    "autocompact|autofix-pr|background|bashes|bg|branch|break-reminder|breaks|brief|btw|bug|cd|"
    "checkpoint|chrome|clear|cloud-plugins|color|compact|config|context|continue|copy|cost|design-consent|"
    "design-login|design-revoke|desktop|diff|downtime|effort|exit|export|extra-usage|fast|feedback|focus|"
    "fork|heapdump|help|hooks|ide|import|install-github-app|install-slack-app|ios|keybindings|list-agents|"
    "login|logout|marketplace|mcp|memory|memory-pause|mobile|model|new|output-style|passes|pause-memory|"
    "peers|permissions|plan|plugin|plugins|powerup|privacy-settings|pro-trial-expired|project|quit|radio|"
    "rate-limit-options|rc|recap|release-notes|reload-plugins|reload-skills|remote|remote-control|remote-env|"
    "rename|reset|restart|resume|rewind|sandbox|schedule|scroll-speed|session|settings|setup-bedrock|"
    "setup-vertex|share|skills|stats|status|statusline|stickers|stop|subtask|tasks|teleport|"
    "terminal-setup|theme|toggle-memory|tp|tui|ultraplan|ultrareview|undo|update|upgrade|usage|"
    "usage-credits|use-case|vim|voice|web-setup|wellbeing|workflow-launch-exec|workflows"
)


def _start(launch: Launch) -> Invocation:
    """stdin carries the text byte for byte (1.0.128 to 2.1.332): dashes, line ends, quotes, `!`, `#`, 2 MB.

    `@name` of a file that exists is kept and the file's content added behind it; of any other it is plain text.
    """
    return _invocation(launch, ("--session-id", launch.session) if launch.session else ())


def _resume(launch: Launch) -> Invocation:
    """Never with --session-id, which claude refuses beside --resume (pitfall 23).

    Raises UserError for a session that is no UUID: 2.1.200 would search titles for it, and a path names any file.
    """
    if not launch.session or not UUID.fullmatch(launch.session):
        raise UserError(
            f"claude cannot resume {launch.session!r}: its session ids are lower-case UUIDs", code="session_malformed"
        )
    return _invocation(launch, ("--resume", launch.session))


def _continue(launch: Launch) -> Invocation:
    """With no session in this directory claude starts a new one silently (10b-continue-none)."""
    return _invocation(launch, ("--continue",))


def _picker(launch: Launch) -> Invocation:
    """Raises UserError for a message: the picker would search for it."""
    if launch.message is not None:
        raise UserError("claude's picker takes no message", code="message_refused", hints=("give it in the terminal",))
    return _invocation(launch, ("--resume",))


def _invocation(launch: Launch, selector: tuple[str, ...]) -> Invocation:
    flags = passed(OPTIONS, launch.args)
    if launch.interactive:
        # After `--` a prompt is no flag, and no variadic flag eats it (17f-leading-dash-ddash, 17h-resume-ddash).
        prompt = ("--", launch.message) if launch.message is not None else ()
        return Invocation((launch.binary, *selector, *flags, *prompt), None, launch.cwd)
    argv = (launch.binary, "-p", "--output-format", "stream-json", "--verbose", *selector, *flags)
    return Invocation(argv, launch.message.encode() if launch.message is not None else None, launch.cwd)


def _check_message(version: Version, message: str) -> None:
    """Raises UserError for what this version would carry out instead of sending it, or not read."""
    found = _WORD.match(message)
    if found and (version < _SENDS_UNKNOWN or re.fullmatch(_COMMANDS, found[1])):
        raise UserError(
            f"this message starts with '{found[0]}': claude {dotted(version)} takes that as a command of its own",
            code="message_refused",
            hints=("put a space before the slash to send it as text",),
        )
    size = len(message.encode())
    if version >= (2, 1, 200) and size > _LONGEST_MESSAGE:
        raise UserError(
            f"the message has {size} bytes; claude reads {_LONGEST_MESSAGE}",
            code="message_too_large",
            hints=("put the text in a file and name the file in the message",),
        )


def _mint(version: Version) -> str | None:
    if version < _MINTS:
        return None
    from uuid import uuid4

    return str(uuid4())


def _forks(version: Version, args: tuple[str, ...]) -> bool:
    asked = any(word.option is not None and "--fork-session" in word.option.names for word in parse(OPTIONS, args))
    return asked or version < _KEEPS_ID


def _elsewhere(version: Version, same_repository: bool) -> bool:
    """Pitfall 5: bisected with resumes from a sub-directory, a work tree, another place and a renamed directory."""
    return version >= store.ANYWHERE or (same_repository and version >= store.REPOSITORY)


def _allow(_version: Version, _args: tuple[str, ...], refused: tuple[Refusal, ...]) -> tuple[Allowance, ...]:
    """Names alone: what is in brackets behind one (`Bash(git *)`) is the person's to choose."""
    tools = ",".join(sorted({refusal.tool for refusal in refused if refusal.tool}))
    return (Allowance(tools.replace(",", ", "), (f"--allowedTools={tools}",)),) if tools else ()


def _first_reply_lost(version: Version) -> str | None:
    if version >= _KEEPS_FIRST_TURN:
        return None
    return f"claude {dotted(version)} saves nothing of a session that ended within its first reply"


def _elsewhere_note(version: Version) -> str | None:
    if not _elsewhere(version, same_repository=True):
        return None
    return f"claude {dotted(version)} works here; the session stays in the project folder of its first directory"


ENGINE = Engine(
    name="claude",
    field="session_id",
    binary="claude",
    install="npm install -g @anthropic-ai/claude-code",
    login="start claude and type /login, or set ANTHROPIC_API_KEY",
    id_pattern=UUID,
    options=OPTIONS,
    first_resume=(1, 0, 24),
    bad=(),
    interactive="verified",
    start=_start,
    resume=_resume,
    continue_=_continue,
    picker=_picker,
    check_message=_check_message,
    mint=_mint,
    forks=_forks,
    elsewhere=_elsewhere,
    locate=store.locate,
    store=store.store,
    turns=store.turns,
    ended=store.ended,
    created_since=store.created_since,
    first_reply_lost=_first_reply_lost,
    parse_version=parse_version,
    elsewhere_note=_elsewhere_note,
    expires=retention.claude,
    stored=store.stored,
    laid=store.laid,
    root=store.root,
    writer=store.writer,
    allow=_allow,
    modes=MODES,
    choosing=CHOOSING,
)
