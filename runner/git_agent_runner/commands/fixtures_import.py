"""`git agent fixtures import`: a transcript that a person recorded elsewhere becomes a recording."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

import click

from git_agent_extractors.model import Status
from git_agent_runner.errors import UsageError
from git_agent_runner.present import warn
from git_agent_runner.text import shown

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from git_agent_fixtures.importing import Answers
    from git_agent_fixtures.recording.model import Recording
    from git_agent_fixtures.recording.redact import Finding

NONE = "none"  # the word for null
_T = TypeVar("_T")


@click.command("import", short_help="Keep a transcript recorded elsewhere")
@click.argument("engine")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--version", metavar="V", default="unknown", help="Of the engine.")
@click.option("--situation", metavar="NAME", default="imported", help="How the recording is called.")
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), help="Where; fixtures/recordings by default.")
@click.option("--as", "named", metavar="STREAM", help="What FILE is: stdout, stderr or pty-output; else its name says.")
@click.option("--session", metavar="ID", help="The right session, or none.")
@click.option("--status", metavar="STATUS", help="The right status: completed, failed, …")
@click.option("--exit-status", metavar="N", help="The engine's, negative for a signal, or none where nobody knows.")
def command(
    *,
    engine: str,
    paths: tuple[Path, ...],
    version: str,
    situation: str,
    into: Path | None,
    named: str | None,
    session: str | None,
    status: str | None,
    exit_status: str | None,
) -> int:
    """Clean a transcript and keep it with what is right about it, which a person says: it is asked for on a terminal.

    Written is DIR/ENGINE/VERSION/SITUATION/, and never over a recording that is there.
    """
    from git_agent_fixtures import importing
    from git_agent_runner import engines
    from git_agent_runner.commands.fixtures import extra, recordings

    pattern = engines.load(engine).id_pattern
    root = recordings() if into is None else into.absolute()
    place = importing.target(root, engine, version, situation)
    files = importing.sources(paths, named)
    given = {"--exit-status": exit_status, "--session": session, "--status": status}
    seen = importing.unanswered(engine, files)
    answers = _answers(seen, given, pattern)
    with extra():
        kept, found = importing.keep(seen, answers, place)
    _tell(kept, found, place)
    return 0


def _answers(seen: Recording, given: dict[str, str | None], pattern: re.Pattern[str]) -> Answers:
    """What the person says, in options or when asked. Our reading is shown beside a question, and is no answer."""
    from git_agent_fixtures.importing import Answers
    from git_agent_fixtures.recording.check import transcript

    if not (os.isatty(0) and os.isatty(1)) and (missing := [name for name, value in given.items() if value is None]):
        raise UsageError(
            f"what is right is missing: {', '.join(missing)}",
            hints=("give it, or answer the questions on a terminal",),
        )
    exit_status = _answer(given, "--exit-status", "", _number)
    read = transcript(seen._replace(facts=seen.facts._replace(exit_status=exit_status)))
    ours = read.session.value or NONE
    session = _answer(given, "--session", ours, lambda text: _session(text, pattern))
    status = _answer(given, "--status", read.status, _status)
    return Answers(session, status, exit_status)


def _answer(given: dict[str, str | None], name: str, ours: str, parse: Callable[[str], _T]) -> _T:
    """Asks until there is an answer that can be; one that was given as an option must be."""
    text = given[name]
    if text is not None:
        return parse(text)
    question = name.removeprefix("--").replace("-", " ")
    while True:
        try:
            return parse(input(shown(f"{question}{f' (we read {ours})' if ours else ''}: ")).strip())
        except UsageError as wrong:
            print(shown(wrong.message))
        except EOFError:
            raise UsageError(f"{name} is not answered, and nothing is written") from None


def _number(text: str) -> int | None:
    if text == NONE:
        return None
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"'{text}' is not an exit status: a number, or {NONE} where nobody knows") from None


def _session(text: str, pattern: re.Pattern[str]) -> str | None:
    if text == NONE:
        return None
    if not pattern.fullmatch(text):
        raise UsageError(f"'{text}' has not the shape of this engine's sessions; {NONE} is for no session")
    return text


def _status(text: str) -> Status:
    for status in get_args(Status):
        if text == status:
            found: Status = status
            return found
    raise UsageError(f"'{text}' is not a status: {', '.join(get_args(Status))}")


def _tell(kept: Recording, found: tuple[Finding, ...], place: Path) -> None:
    """Kinds and counts of what was redacted, never what it said; and where our extractor says something else."""
    from git_agent_fixtures.recording.check import deviations

    print("redacted:", ", ".join(f"{one.kind} {one.times}" for one in found) or NONE)
    print(shown(f"session:  {kept.truth.session or NONE}"))
    print(shown(f"written:  {place}"))
    for one in deviations(kept):
        warn(f"our extractor deviates in {one.what}: {one.found}, expected {one.expected}")
