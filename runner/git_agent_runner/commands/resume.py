"""`git agent resume`: continue this branch's session, or explain why that is impossible."""

from __future__ import annotations

import os
from typing import Any

import click

from git_agent_runner import context
from git_agent_runner.adopt.found import found
from git_agent_runner.attempt.go import Act, Fallback, Request, configured, go
from git_agent_runner.console import parse
from git_agent_runner.console.attached import attached
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UsageError
from git_agent_runner.core.model import AgentMode
from git_agent_runner.core.text import quote, shown
from git_agent_runner.find.lookup import Where
from git_agent_runner.git import refs
from git_agent_runner.store.files.layout import HANDLE_LENGTH, HEX, is_handle
from git_agent_runner.store.records.index import PREFIX_LENGTH
from git_agent_runner.windows import handover

_GIVEN = {click.core.ParameterSource.COMMANDLINE}


@click.command(cls=parse.EngineCommand, short_help="Continue this branch's session")
@click.argument("words", metavar="[HANDLE] [MESSAGE]", nargs=-1)
@click.option("--handle", metavar="HANDLE", help="The run's handle, or a unique prefix of 4 or more.")
@click.option("--branch", metavar="NAME", help="Resume the run of this branch, even if renamed or deleted.")
@click.option("--commit", metavar="REV", help="Resume the run noted on this commit, or on the nearest before it.")
@click.option("-e", "--engine", metavar="ENGINE", help="Continue in this engine: the conversation is handed over.")
@click.option(
    "--mode",
    "agent_mode",
    type=click.Choice(["read", "edit", "full"]),
    help="What the agent may do from now on; replaces recorded permissions.",
)
@click.option("-m", "--message", "message_text", metavar="TEXT", help="The message, e.g. one that begins with a dash.")
@click.option("--message-file", metavar="FILE", help="Read the message from FILE.")
@click.option("--attach", metavar="FILE", help="Show the agent the end of this log (`-`: standard input), as data.")
@click.option("-i", "--interactive", is_flag=True, help="Open the session in this terminal.")
@click.option("--terminal", is_flag=True, help="Open the session in a new terminal window or tab.")
@click.option("-n", "--dry-run", is_flag=True, help="Print the exact command, or what --all would do.")
@click.option("--strict", is_flag=True, help="Resume this session or fail.")
@click.option(
    "--fallback",
    type=click.Choice(["fail", "continue", "fresh", "picker"]),
    help="What to do if it cannot be resumed (default: agent.fallback, else fail).",
)
@click.option("--cwd", metavar="DIR", help="Run here instead of in the recorded directory.")
@click.option("--session", metavar="VALUE", help="Resume this session of the run's engine instead.")
@click.option("--store", is_flag=True, help="Copy the session into this store, which may be another account's.")
@click.option(
    "--trust",
    is_flag=True,
    help="Accept a fetched conversation, and flags of a note that widen permissions.",
)
@click.option(
    "--timeout",
    callback=parse.seconds,
    metavar="TIME",
    help="End the engine after this time: 600, 90s, 10m, 2h.",
)
@click.option("--wait", is_flag=True, help="Wait until no other process uses the run or its session.")
@click.option("--kill", is_flag=True, help="End the run's attempt first, if one is running.")
@click.option("--all", "everything", is_flag=True, help="Resume every unfinished run of the repository.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="With --all: at most N at a time (default 4).")
@click.option("--raw", is_flag=True, help="Show the engine's raw output.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Explain how run, session and directory were chosen.")
def command(  # noqa: PLR0917  click passes options by name
    words: tuple[str, ...],
    handle: str | None,
    branch: str | None,
    commit: str | None,
    engine: str | None,
    agent_mode: AgentMode | None,
    message_text: str | None,
    message_file: str | None,
    attach: str | None,
    interactive: bool,
    terminal: bool,
    dry_run: bool,
    strict: bool,
    fallback: Fallback | None,
    cwd: str | None,
    session: str | None,
    store: bool,
    trust: bool,
    timeout: float | None,
    wait: bool,
    kill: bool,
    everything: bool,
    jobs: int | None,
    raw: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Continue a session: this branch's, or that of the run named.

    One argument is the MESSAGE (`-` reads it from standard input); with two, the first is the HANDLE. What follows --
    goes to the engine. On a terminal, without a message, the session opens interactively.
    """
    _refuse_nonsense(strict=strict, fallback=fallback, jobs=jobs, everything=everything)
    parse.only_one({"--raw": raw, "--json": as_json})
    if not everything:
        shown_by = {"-i": interactive, "--terminal": terminal}
        parse.only_one(shown_by, *({"--raw": raw, name: given} for name, given in shown_by.items()))
        parse.only_one({"--wait": wait, "--kill": kill, "--dry-run": dry_run})
        parse.only_one({"-e": engine is not None, "--session": session is not None})
    ctx = context.load(warn=context.once())
    named, said = _words(ctx, words, handle)
    if everything:
        _refuse_beside_all(named)
    where = _where(named, branch, commit)
    if attach == "-":
        parse.only_one({"--attach -": True, "a message from standard input": "-" in (said, message_file)})
    message = parse.read_message(said, message_text, message_file, ("--message", "--message-file"))
    if attach is not None:
        message = attached(message, attach)
    handover.drop(ctx.layout, message_file)
    if everything:
        return _all(ctx, message, jobs, strict=strict, kill=kill, timeout=timeout, dry_run=dry_run, as_json=as_json)
    interactive = interactive or terminal or _opens(message is not None, named, words, dry_run=dry_run)
    request = Request(
        engine=engine,
        given=parse.engine_args(),
        message=message or (None if interactive else ctx.settings.continue_message),
        interactive=interactive,
        timeout=timeout,
        raw=raw,
        as_json=as_json,
        verbose=verbose,
        dry_run=dry_run,
        cwd=_directory(cwd),
        session=session,
        store=store,
        wait=wait,
        kill=kill,
        terminal=terminal,
        agent_mode=agent_mode,
    )
    instead: Fallback = "strict" if strict else fallback or configured(ctx)
    return go(ctx, request, instead, found(ctx, where, request, trusted=trust), _opening() if terminal else None)


def _opening() -> Act:
    from git_agent_runner.windows.resume import in_window  # only that form pays for it

    return in_window


def _all(ctx: Context, message: str | None, jobs: int | None, **wanted: Any) -> int:
    from git_agent_runner.unattended import pool, resume_all  # a rare need

    return resume_all.resume_all(ctx, resume_all.ResumeAllRequest(message, jobs=jobs or pool.JOBS, **wanted))


def _refuse_nonsense(*, strict: bool, fallback: Fallback | None, jobs: int | None, everything: bool) -> None:
    if strict and fallback not in (None, "fail"):
        raise UsageError(f"--strict and --fallback {fallback} cannot be used together", hints=("give one of them",))
    if jobs is not None and not everything:
        raise UsageError("--jobs needs --all", hints=("without it there is only one run",))


def _refuse_beside_all(handle: str | None) -> None:
    """Raises UsageError for an argument or option that concerns one run only."""
    own = {
        "everything",
        "words",
        "message_text",
        "message_file",
        "strict",
        "kill",
        "jobs",
        "timeout",
        "dry_run",
        "as_json",
    }
    here = click.get_current_context()
    given = [param for param in here.command.params if here.get_parameter_source(param.name or "") in _GIVEN]
    strange = [param.opts[0] for param in given if param.name not in own]
    if handle is not None:
        strange.insert(0, f"the handle {handle}")
    elif parse.engine_args():
        strange.append("an engine's own flags")
    if strange:
        raise UsageError(
            f"{strange[0]} and --all cannot be used together", hints=("--all resumes every unfinished run",)
        )


def _words(ctx: Context, words: tuple[str, ...], handle: str | None) -> tuple[str | None, str | None]:
    """(handle, message) of the words on the command line. Raises UsageError when they can be read two ways."""
    if handle is not None:
        return handle, parse.only_word(words)
    if len(words) > 1:
        return _run_of(ctx, words), parse.only_word(words[1:])
    if len(words) == 1 and is_handle(words[0]) and os.path.lexists(ctx.layout.index_file(words[0])):
        return words[0], None
    return None, parse.only_word(words)


def _run_of(ctx: Context, words: tuple[str, ...]) -> str:
    """The first of several words as a handle. Raises UsageError if it is not one: the message must not go to this
    branch's agent."""
    word, *rest = words
    if PREFIX_LENGTH <= len(word) <= HANDLE_LENGTH and not word.strip(HEX):
        return word
    if refs.heads(ctx.repo, {word}):
        hint = f"to resume its run: git agent resume --branch {quote(word)} {quote(' '.join(rest))}"
        raise UsageError(f"'{shown(word)}' is a branch, not a handle", hints=(hint,))
    quoting = 'a message of several words needs quotes: git agent resume "<message>"'
    raise UsageError(f"'{shown(word)}' is not a handle", hints=("`git agent list` shows the handles", quoting))


def _where(handle: str | None, branch: str | None, commit: str | None) -> Where:
    for name, value in (("--handle", handle), ("--branch", branch)):
        if value == "":  # a script's variable that is not set must not mean "this branch"
            raise UsageError(f"{name} is empty", hints=("leave it out to resume this branch's run",))
    if handle and (branch or commit):
        raise UsageError(
            f"a handle and --{'branch' if branch else 'commit'} cannot be used together", hints=("give one of them",)
        )
    return Where(handle, branch, commit)


def _directory(cwd: str | None) -> str | None:
    if cwd is not None and not os.path.isdir(cwd):
        raise UsageError(f"--cwd: there is no directory '{cwd}'", hints=("give one that exists",))
    return None if cwd is None else os.path.realpath(cwd)


def _opens(has_message: bool, handle: str | None, words: tuple[str, ...], *, dry_run: bool) -> bool:
    """Without a message a terminal opens the session. Raises UsageError off a terminal, where one is needed."""
    if has_message:
        return False
    if os.isatty(0) and os.isatty(1):
        return True
    if dry_run:
        return False
    if handle and words:
        raise UsageError(
            f"'{handle}' is a run's handle; a message is missing",
            hints=(f'git agent resume {handle} "<message>"', f"to send the word itself: --message={handle}"),
        )
    raise UsageError("no message", hints=('git agent resume "<message>"', "or -i, on a terminal, to open the session"))
