"""An engine made of data: command line templates, an option table, and where its session files are.

Its session store: `declared_store.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.added import sessions
from git_agent_runner.engines.added.sessions import SESSION, DeclaredStore
from git_agent_runner.engines.arguments import passed
from git_agent_runner.engines.spec import Engine, Launch, Option, Version, parse_version

if TYPE_CHECKING:
    from git_agent_extractors.declared import SessionRule

Places = Literal["nowhere else", "same repository", "anywhere"]
PLACES: tuple[Places, ...] = ("nowhere else", "same repository", "anywhere")

FLAGS, PROMPT, CWD = "{flags}", "{prompt}", "{cwd}"
_HOLE = re.compile(r"\{\w*\}")


class Command(NamedTuple):
    """The words after the program. `stdin`: the message goes there, and in no word."""

    argv: tuple[str, ...]
    stdin: bool = False


class DeclaredTerminal(NamedTuple):
    """The forms that take the terminal; without a `{prompt}` they take no message."""

    start: tuple[str, ...]
    resume: tuple[str, ...]


class Declared(NamedTuple):
    """All that is reported of running one engine. `since` is the first version that resumes by id.

    Without `resume` a session is resumed in a terminal only. `forks`: a resume gives it a new id.
    """

    binary: str
    install: str
    start: Command
    since: Version
    resume: Command | None = None
    forks: bool = False
    options: tuple[Option, ...] = ()
    elsewhere: Places = PLACES[0]
    continue_: Command | None = None
    terminal: DeclaredTerminal | None = None
    store: DeclaredStore | None = None


def engine(name: str, declared: Declared, session: SessionRule) -> Engine:
    """The engine that this describes; its command lines hold what the contract asks of every engine."""
    shape, forms, store = session.shape, declared.terminal, declared.store
    minted = _holds(declared.start.argv, SESSION)
    lines = store if store and sessions.in_lines(store) else None

    def compiled(launch: Launch, command: Command | None, terminal: tuple[str, ...] | None) -> Invocation:
        form = (Command(terminal) if terminal else None) if launch.interactive else command
        if form is None:
            raise _without_form(name, declared, interactive=launch.interactive)
        return _invocation(name, declared, form, launch)

    def resumed(launch: Launch) -> Invocation:
        if not launch.session or not shape.fullmatch(launch.session) or launch.session.startswith("-"):
            raise UserError(
                f"{name} cannot resume {launch.session!r}: its session ids look like {shape.pattern}",
                code="session_malformed",
            )
        return compiled(launch, declared.resume, forms and forms.resume)

    def continued(launch: Launch) -> Invocation:
        assert declared.continue_
        return compiled(launch, declared.continue_, None)

    return Engine(
        name=name,
        field=session.field,
        binary=declared.binary,
        install=declared.install,
        id_pattern=shape,
        options=declared.options,
        first_resume=declared.since,
        bad=(),
        interactive="not verified",
        start=lambda launch: compiled(launch, declared.start, forms and forms.start),
        resume=resumed,
        continue_=continued if declared.continue_ else None,
        check_message=lambda _version, _message: None,
        mint=lambda _version: _uuid() if minted else None,
        forks=lambda _version, _args: declared.forks,
        elsewhere=lambda _version, same: declared.elsewhere == "anywhere" or (same and declared.elsewhere != PLACES[0]),
        locate=lambda query: sessions.locate(name, store, query),
        store=lambda query: sessions.place(store, query),
        turns=sessions.turns,
        ended=None,
        created_since=lambda query: sessions.created_since(store, shape, query),
        stored=(lambda query, located: sessions.stored(lines, query, located)) if lines else None,
        root=lambda query: sessions.root(store, query) if store else query.env.get("HOME", ""),
        owns=(lambda query, file: sessions.owns(lines, query, file)) if lines else None,
        first_reply_lost=lambda _version: None,
        parse_version=parse_version,
        elsewhere_note=lambda _version: None,
        headless=declared.resume is not None,
    )


def _without_form(name: str, declared: Declared, *, interactive: bool) -> UserError:
    if interactive:
        return UserError(
            f"the profile of {name} has no terminal form",
            code="interactive_unsupported",
            hints=("leave -i out, or add 'terminal' to its profile",),
        )
    silent = declared.terminal is None or not _holds(declared.terminal.resume, PROMPT)
    return UserError(
        f"{name} resumes a session only in a terminal",
        code="resume_unsupported",
        hints=(f"on a terminal: -i{', and no message' if silent else ''}",),
    )


def _uuid() -> str:
    from uuid import uuid4

    return str(uuid4())


def _invocation(name: str, declared: Declared, form: Command, launch: Launch) -> Invocation:
    """The session was checked against its shape, and the message stands where it cannot be read as a flag."""
    message = launch.message
    if message is not None and not form.stdin and not _holds(form.argv, PROMPT):
        raise UserError(
            f"the terminal form of {name} takes no message",
            code="message_refused",
            hints=("leave -i or the message out",),
        )
    bound = declared.elsewhere == PLACES[0]
    cwd = (launch.session_cwd or launch.cwd) if bound else launch.cwd
    argv: list[str] = [launch.binary]
    for word in form.argv:
        if word == FLAGS:
            argv += passed(declared.options, launch.args)
        elif word.endswith(SESSION):
            argv.append(word.removesuffix(SESSION) + (launch.session or ""))
        elif word.endswith(CWD):
            argv.append(word.removesuffix(CWD) + cwd)
        elif not word.endswith(PROMPT):
            argv.append(word)
        elif message is not None:
            argv.append(word.removesuffix(PROMPT) + message)
    if message is None and argv[-1] == "--":
        argv.pop()
    stdin = message.encode() if form.stdin and message is not None else None
    return Invocation(tuple(argv), stdin, cwd)


def _holds(argv: tuple[str, ...], hole: str) -> bool:
    return any(word.endswith(hole) for word in argv)


def template_fault(argv: tuple[str, ...], *, prompt: tuple[int, ...], session: tuple[int, ...]) -> str | None:
    """What is expected of a template instead; None when it is one. `prompt`, `session`: how often each may stand."""
    holes = [(word, hole) for word in argv for hole in _HOLE.findall(word)]
    for word, hole in holes:
        if hole not in (FLAGS, PROMPT, SESSION, CWD):
            return f"only {FLAGS}, {PROMPT}, {SESSION} and {CWD} in braces, not {hole}"
        if word != hole and not (hole != FLAGS and re.fullmatch(r"--?[A-Za-z][\w-]*=" + re.escape(hole), word)):
            return f"{hole} as a word of its own{'' if hole == FLAGS else f' or as --flag={hole}'}, not '{word}'"
    names = [hole for _, hole in holes]
    if names.count(FLAGS) != 1:
        return f"{FLAGS} once: the person's own flags go there"
    for hole, counts in ((PROMPT, prompt), (SESSION, session)):
        if names.count(hole) not in counts:
            return _COUNTS[hole][max(counts)]
    cut = argv.index("--") if "--" in argv else len(argv)
    if argv[cut:] not in ((), ("--", PROMPT)) or PROMPT in argv[:cut]:
        return f"{PROMPT} as --flag={PROMPT}, or as the last word after a word --: else a message could become a flag"
    return None


_COUNTS = {
    PROMPT: (f"no {PROMPT}: the message goes to stdin, or is not given at all", f"{PROMPT} once, or stdin: true"),
    SESSION: (f"no {SESSION}", f"{SESSION} once"),
}
