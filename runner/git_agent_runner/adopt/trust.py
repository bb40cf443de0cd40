"""What a note may ask for. Anyone who can push may have written it, so it names a session and decides nothing."""

from __future__ import annotations

from typing import NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note
from git_agent_runner.core.text import command_line, shown
from git_agent_runner.engines import arguments
from git_agent_runner.engines.redact import MARK
from git_agent_runner.engines.spec import Engine


class NoteArgs(NamedTuple):
    """The launch args of a note that may be passed on, the names of those whose values it hides, and of those that
    widen what the agent may do.
    """

    args: tuple[str, ...]
    hidden: tuple[str, ...]
    wide: tuple[str, ...]


def session(note: Note, engine: Engine) -> str:
    """The session that a note names. Raises UserError `note_refused` for a note that no git-agent wrote like this."""
    value = note.session.value
    if note.run_id[17:-9] != note.agent_name:
        raise _refused(note, f"its run id names {note.run_id[17:-9]}, but agentName is {note.agent_name}")
    if value is None:
        raise UserError(f"run {note.handle} has no session id in its note", code="session_unknown")
    if note.session.field != engine.field or not engine.id_pattern.fullmatch(value):
        raise _refused(note, f"'{shown(value)}' is not a session id of {engine.name}")
    return value


def launch_args(note: Note, engine: Engine) -> NoteArgs:
    """The flags of a note. Raises UserError `note_refused`, which names what is not a flag of the engine's to keep."""
    try:
        words = arguments.parse(engine.options, note.launch_args)
    except UserError as error:
        raise _refused(note, error.message) from None
    hidden = [word for word in words if any(MARK in text for text in word.words)]
    sent = [word for word in words if word.option and word.option.role == "attachment"]  # with the message of then
    left = tuple(text for word in words if word not in [*hidden, *sent] for text in word.words)
    if arguments.launch_args(engine.options, left) != left:
        raise _refused(note, f"{command_line(left)} is not a flag that runs store")
    names = tuple(dict.fromkeys("a flag" if word.name == MARK else word.name for word in hidden))
    return NoteArgs(left, names, tuple(arguments.widening(engine.options, left)))


def _refused(note: Note, why: str) -> UserError:
    return UserError(
        f"the note of run {note.handle} cannot be used: {why}",
        code="note_refused",
        hints=(f"look at it: git notes --ref=agent show {note.commit[:12]} | cat -v",),
    )
