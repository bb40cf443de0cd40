"""Gemini CLI: how it is started and resumed, and what its versions take. Its session files: `gemini_store.py`.

Boundaries lie between recorded versions (0.8.2, 0.10.0, 0.20.2, 0.24.5, 0.29.0, 0.36.0, 0.41.2, 0.47.0, 0.55.1,
0.61.0). Where the exact release is not known, a flag is let through in the gap and the engine has the last word.
"""

from __future__ import annotations

import re

from git_agent_extractors.model import NOT_OFFERED, Refusal
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines import files, retention
from git_agent_runner.engines.arguments import parse, passed
from git_agent_runner.engines.gemini import at_files, store
from git_agent_runner.engines.spec import (
    Allowance,
    Engine,
    Launch,
    ModeFlags,
    Option,
    StoreQuery,
    Version,
    dotted,
    parse_version,
)

_HELP = "gemini/*/help"
_OLD: Version = (0, 20)  # 0.10.0 has these flags, 0.20.2 does not
_PLAN: Version = (0, 36)  # 0.29.0 has no "plan"
_CHOOSING = ("--yolo", "--approval-mode", "--allowed-tools")
_MODES = (
    ModeFlags("read", ("--approval-mode", "plan"), since=_PLAN),
    ModeFlags("read", ("--approval-mode", "default")),
    ModeFlags("edit", ("--approval-mode", "auto_edit")),
    ModeFlags("full", ("--yolo",)),
)

# yargs: every array flag is declared with `nargs: 1` (bundles of 0.20.2, 0.36.0, 0.61.0): it takes one word.
OPTIONS = (
    Option(("--model", "-m"), "one", "model", source=_HELP),
    Option(("--prompt", "-p"), "one", "prompt", source=_HELP),
    Option(("--prompt-interactive", "-i"), "one", "prompt", source=_HELP),
    Option(("--output-format", "-o"), "one", "format", source=_HELP),
    Option(("--resume", "-r"), "optional", "selector", since=(0, 20), source="gemini/*/continue"),
    Option(("--session-id",), "one", "selector", since=(0, 41, 2), source="gemini/*/preset"),
    Option(("--session-file",), "one", "selector", since=(0, 47), source=_HELP),
    Option(("--yolo", "-y"), "none", "permission", widens=True, excludes=("--approval-mode",), source=_HELP),
    Option(("--approval-mode",), "one", "permission", widens=True, excludes=("--yolo",), source=_HELP),
    Option(("--skip-trust",), "none", "permission", since=(0, 41), widens=True, source="gemini/*/help"),
    Option(("--sandbox", "-s"), "none", "permission", widens=True, source=_HELP),
    Option(("--sandbox-image",), "one", "permission", until=_OLD, widens=True, source=_HELP),
    Option(("--allowed-tools",), "one", "permission", widens=True, repeats=True, source=_HELP),
    Option(("--allowed-mcp-server-names",), "one", "permission", widens=True, repeats=True, source=_HELP),
    Option(("--policy",), "one", since=(0, 30), widens=True, repeats=True, source=_HELP),
    Option(("--admin-policy",), "one", since=(0, 30), widens=True, repeats=True, source=_HELP),
    Option(("--include-directories",), "one", widens=True, repeats=True, source=_HELP),
    Option(("--extensions", "-e"), "one", widens=True, repeats=True, source=_HELP),
    Option(("--all-files", "-a"), "none", until=_OLD, widens=True, source=_HELP),
    Option(("--proxy",), "one", until=_OLD, widens=True, source=_HELP),
    Option(("--checkpointing", "-c"), "none", until=_OLD, source=_HELP),
    Option(("--telemetry",), "none", until=_OLD, widens=True, source=_HELP),
    Option(("--telemetry-target",), "one", until=_OLD, widens=True, source=_HELP),
    Option(("--telemetry-otlp-endpoint",), "one", until=_OLD, widens=True, source=_HELP),
    Option(("--telemetry-otlp-protocol",), "one", until=_OLD, widens=True, source=_HELP),
    Option(("--telemetry-log-prompts",), "none", until=_OLD, widens=True, source=_HELP),
    Option(("--telemetry-outfile",), "one", until=_OLD, widens=True, source=_HELP),
    Option(("--worktree", "-w"), "optional", since=(0, 30), widens=True, source=_HELP),
    Option(("--raw-output",), "none", since=(0, 25), widens=True, source=_HELP),
    Option(("--accept-raw-output-risk",), "none", since=(0, 25), widens=True, source=_HELP),
    Option(("--debug", "-d"), "none", source=_HELP),
    Option(("--screen-reader",), "none", source=_HELP),
    Option(("--show-memory-usage",), "none", until=_OLD, source=_HELP),
    # The agent client protocol takes over both streams: no run of ours.
    Option(("--acp",), "none", "format", since=(0, 30), source=_HELP),
    Option(("--experimental-acp",), "none", "format", source=_HELP),
    Option(("--list-extensions", "-l"), "none", "exit", source=_HELP),
    Option(("--list-sessions",), "none", "exit", since=(0, 20), source=_HELP),
    Option(("--delete-session",), "one", "exit", since=(0, 20), source=_HELP),
    Option(("--version", "-v"), "none", "exit", source=_HELP),
    Option(("--help", "-h"), "none", "exit", source=_HELP),
)

STDIN_LIMIT = 8_388_608  # bytes; 0.61.0 cuts off the rest, and 9 MB made no model call at all (prompt-large-stdin-9M)

_RECENT: Version = (0, 25)  # 0.24.5 behaves as 0.20.2 does, 0.29.0 as 0.61.0

# Recent versions carry their own commands out even when headless (`handleSlashCommand`). All of them were tried
# bare and with words on 0.36.0 and 0.61.0: these end the run (exit 42 or 1), hang it, replace the text, or have forms
# that change the machine (`/extensions install`). Any other slash text, known or not, reaches the model as it stands;
# on 0.20.2 and 0.24.5 all of it does.
_COMMANDS = re.compile(
    "agents|auth|bug|bug-memory|chat|commands|copy|dir|directory|docs|editor|exit|export-session|extensions|footer|hooks"
    "|ide|init|mcp|memory|model|permissions|plan|privacy|quit|restore|resume|rewind|settings|setup-github|skills"
    "|statusline|terminal-setup|theme|upgrade|vim"
)
# These reach the model too, but only after the conversation was emptied or shortened (0.61.0: `/clear` on a resume
# sent one turn instead of two). In a new conversation they do nothing.
_FORGETTING = re.compile("clear|new|compress|summarize|compact")
_SLASH = "put a word or a space before the slash"


def _start(launch: Launch) -> Invocation:
    """stdin carries the text byte for byte from 0.24.5 on: dashes, quotes, line ends, 200 kB, emoji.

    0.20.2 adds two line ends. Every version takes `@name` for a file when one matches: `gemini_at.py`.
    """
    return _invocation(launch, (f"--session-id={launch.session}",) if launch.session else ())


def _resume(launch: Launch) -> Invocation:
    """Raises UserError for a session that is no UUID: gemini would take a number or `latest` for another one."""
    if not launch.session or not files.UUID.fullmatch(launch.session):
        raise UserError(
            f"gemini cannot resume {launch.session!r}: its session ids are lower-case UUIDs", code="session_malformed"
        )
    message = launch.message or ""
    if launch.version >= _RECENT and _FORGETTING.fullmatch(_command(message)):
        raise _refusal(
            f"gemini would empty or shorten the conversation on '/{_command(message)}' before it reads the rest", _SLASH
        )
    return _invocation(launch, (f"--resume={launch.session}",))


def _invocation(launch: Launch, selector: tuple[str, ...]) -> Invocation:
    flags = _flags(launch.args)
    if launch.interactive:
        prompt = (f"--prompt-interactive={launch.message}",) if launch.message is not None else ()
        return Invocation((launch.binary, *flags, *selector, *prompt), None, launch.cwd)
    # stream-json came with 0.11; before it json is the only form with a structure (0.8.2 and 0.10.0 help).
    form = "stream-json" if launch.version >= (0, 11) else "json"
    argv = (launch.binary, *flags, "--output-format", form, *selector)
    return Invocation(argv, launch.message.encode() if launch.message is not None else None, launch.cwd)


def _flags(args: tuple[str, ...]) -> tuple[str, ...]:
    """The person's flags, with one approval mode: gemini exits 1 on two (conflict-yolo-and-approval-mode)."""
    words = parse(OPTIONS, passed(OPTIONS, args))
    if any(_named(word.option, "--worktree") for word in words):
        raise UserError(
            "gemini --worktree works on a branch of its own, which is not this run's",
            code="flag_refused",
            hints=("make the worktree with 'git worktree add' and start the run there",),
        )
    modes = [at for at, word in enumerate(words) if _named(word.option, "--yolo", "--approval-mode")]
    return tuple(text for at, word in enumerate(words) if at not in modes[:-1] for text in word.words)


def _named(option: Option | None, *names: str) -> bool:
    return option is not None and not set(names).isdisjoint(option.names)


def _check_message(version: Version, message: str) -> None:
    """Raises UserError for what this version would act on, replace, alter or cut. See `_COMMANDS`, `STDIN_LIMIT`."""
    size = len(message.encode())
    if size > STDIN_LIMIT:
        raise UserError(
            f"the message has {size} bytes; gemini reads {STDIN_LIMIT} and drops the rest",
            code="message_too_large",
            hints=("put the text in a file and name the file in the message",),
        )
    if version >= _RECENT and _COMMANDS.fullmatch(_command(message)):
        raise _refusal(f"gemini would run '/{_command(message)}' as its own command instead of sending it", _SLASH)
    if version < _RECENT and (found := re.search(r"\S*[^\s\\]@[^\s@]+", message)):
        raise _refusal(
            f"gemini {dotted(version)} would put a space before the @ of '{found[0]}'", "write it without the @"
        )


def _command(message: str) -> str:
    """The first word of slash text, as gemini splits it, else ""; `//` and `/*` begin comments, ` /x` is text."""
    found = re.match(r"/(?![/*])\s*(\S+)", message)
    return found[1] if found else ""


def _refusal(why: str, hint: str) -> UserError:
    return UserError(why, code="message_refused", hints=(hint,))


def _mint(version: Version) -> str | None:
    if version < (0, 41, 2):
        return None
    from uuid import uuid4

    return str(uuid4())


def _allow(_version: Version, args: tuple[str, ...], _refused: tuple[Refusal, ...]) -> tuple[Allowance, ...]:
    if _chosen(args):
        return ()
    return (Allowance("edits", ("--approval-mode", "auto_edit")), Allowance("edits and commands", ("--yolo",)))


def _chosen(args: tuple[str, ...]) -> bool:
    """Has the person chosen what may be done without being asked?"""
    return any(_named(word.option, *_CHOOSING) for word in parse(OPTIONS, args))


def _limits(_query: StoreQuery, args: tuple[str, ...]) -> tuple[Refusal, ...]:
    """No event names the tools that the model is offered (gemini/*/resume-tool-without-yolo)."""
    return () if _chosen(args) else (Refusal("shell and edit tools", NOT_OFFERED),)


ENGINE = Engine(
    name="gemini",
    field="session_id",
    binary="gemini",
    install="npm install -g @google/gemini-cli",
    id_pattern=files.UUID,
    options=OPTIONS,
    first_resume=(0, 20),
    bad=(),
    interactive="verified",
    start=_start,
    resume=_resume,
    # `--resume=latest` starts a new conversation silently when there is none (resume-latest-empty-project).
    continue_=None,
    check_message=_check_message,
    mint=_mint,
    forks=lambda _version, _args: False,
    # The store is looked up by the exact working directory in every version.
    elsewhere=lambda _version, _same_repository: False,
    locate=store.locate,
    store=store.store,
    turns=store.turns,
    ended=store.ended,
    created_since=store.created_since,
    # The prompt is on disk before the model answers (kill-SIGKILL-resume of 0.20.2 to 0.61.0).
    first_reply_lost=lambda _version: None,
    parse_version=parse_version,
    elsewhere_note=lambda _version: None,
    message_note=at_files.note,
    trust="--skip-trust",
    login="start gemini and type /auth, or set GEMINI_API_KEY",
    expires=retention.gemini,
    stored=store.stored,
    laid=store.laid,
    root=store.root,
    limits=_limits,
    allow=_allow,
    modes=_MODES,
    choosing=_CHOOSING,
)
