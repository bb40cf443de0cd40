"""`git agent fixtures`: recordings of real engines. What does the work is in git_agent_fixtures, an extra."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from git_agent_runner.child import python
from git_agent_runner.commands.fixtures_import import command as import_command
from git_agent_runner.errors import UserError
from git_agent_runner.present import print_json, table, warn
from git_agent_runner.text import shown

if TYPE_CHECKING:
    from git_agent_fixtures.engines import Pin
    from git_agent_fixtures.recording.model import Recording
    from git_agent_fixtures.recording.record import Result

SCHEMA = 1
RECORDINGS = Path("fixtures", "recordings")
EXTRA = ("in a checkout of git-agent: pip install '.[fixtures]'",)


@click.group(short_help="Record engines and look at recordings")
def command() -> None:
    """Record what real engine versions print and accept, and hold the extractors to it."""


command.add_command(import_command)


@command.command(short_help="Record engine versions")
@click.argument("engines", metavar="ENGINE[@VERSION]...", nargs=-1, required=True)
@click.option("--situation", "wanted", metavar="S", multiple=True, help="Only this situation; may be repeated.")
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), help="Where; fixtures/recordings by default.")
@click.option("--jobs", metavar="N", type=click.IntRange(1), default=1, help="Versions recorded at the same time.")
def record(engines: tuple[str, ...], wanted: tuple[str, ...], into: Path | None, jobs: int) -> int:
    """Run engine versions against a scripted model server, in homes of their own, and keep what they print.

    Each version is installed from the npm registry into a cache; without @VERSION it is the newest one. Written is
    DIR/ENGINE/VERSION/SITUATION/. The exit status is 1 when a situation could not be recorded.
    """
    with extra():
        from git_agent_fixtures.engines import exactly
        from git_agent_fixtures.recording.record import names
    root = recordings() if into is None else into.absolute()
    pins = [exactly(*word.split("@", 1)) for word in engines]
    chosen = {pin: names(pin, wanted) for pin in pins}
    if jobs > 1 and len(pins) > 1:
        return _together(pins, wanted, root, jobs)
    return max([_record(pin, wanted, root, len(situations)) for pin, situations in chosen.items()])


@command.command("list", short_help="List what is recorded")
@click.argument("engine", required=False)
@click.option(
    "--from", "root", metavar="DIR", type=click.Path(path_type=Path), help="Where; fixtures/recordings by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(engine: str | None, root: Path | None, as_json: bool) -> int:
    """List the engine versions that are recorded, with the number of their situations."""
    from git_agent_fixtures.recording import folder

    recorded: dict[tuple[str, ...], list[str]] = {}
    for place in folder.folders(root or recordings()):
        name, version, situation = place.parts[-3:]
        if engine in (None, name):
            recorded.setdefault((name, version), []).append(situation)
    if as_json:
        rows = [
            {"engine": name, "version": version, "situations": found} for (name, version), found in recorded.items()
        ]
        print_json({"schema": SCHEMA, "recordings": rows})
    elif recorded:
        print(table(("ENGINE", "VERSION", "SITUATIONS"), [(*key, str(len(found))) for key, found in recorded.items()]))
    return 0


@command.command(short_help="Show one recording")
@click.argument("engine")
@click.argument("version")
@click.argument("situation")
@click.option(
    "--from", "root", metavar="DIR", type=click.Path(path_type=Path), help="Where; fixtures/recordings by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(engine: str, version: str, situation: str, root: Path | None, as_json: bool) -> int:
    """Show how a recording was made, what is right about it, and what our extractor reads."""
    from git_agent_fixtures.recording import folder

    found = folder.read((root or recordings()) / engine / version / situation)
    told = _told(found)
    if as_json:
        print_json({"schema": SCHEMA, **told})
        return 0
    for part in ("facts", "truth", "read"):
        print(f"{part}:")
        for name, value in (told[part] or {}).items():
            print(f"  {name:<12} {shown(_plain(value))}")
    for title, values in (("turns", found.turns), ("files", [f"{n} {len(d)} bytes" for n, d in found.files.items()])):
        print(f"{title}:", *(f"  {shown(value)}" for value in values), sep="\n")
    return 0


@command.command(short_help="Check recordings")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(paths: tuple[Path, ...], as_json: bool) -> int:
    """Check that recordings can be read, hold no secrets, and are read by our extractors as their truth says.

    PATH is a recording or a folder of them. The exit status is 1 when anything deviates.
    """
    with extra():
        from git_agent_fixtures.recording.check import check as checked
    from git_agent_fixtures.recording import folder, sums

    count, wrong = 0, []
    roots = [path.absolute() for path in paths or (recordings(),)]
    for place in (place for root in roots for place in (*folder.folders(root), *sums.gone(root))):
        count += 1
        engine, version, situation = place.parts[-3:]
        for one in checked(place):
            wrong.append({"engine": engine, "version": version, "situation": situation, **one._asdict()})
            if not as_json:
                said = f"{one.what}: {one.found}, expected {one.expected}"
                print(shown(f"{engine} {version} {situation}: {said}"), flush=True)
    if as_json:
        print_json({"schema": SCHEMA, "recordings": count, "deviations": wrong})
    else:
        print(f"{count} recordings, {len(wrong)} deviations")
    return 1 if wrong or not count else 0


@contextmanager
def extra() -> Iterator[None]:
    """Raises UserError where the harness's own dependencies are not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise UserError(f"this needs the module {missing.name}", code="extra_missing", hints=EXTRA) from None


def recordings() -> Path:
    """fixtures/recordings of the checkout we are in. Raises UserError where there is none."""
    here = Path.cwd()
    for place in (here, *here.parents):
        if (place / RECORDINGS).is_dir():
            return place / RECORDINGS
    raise UserError(
        f"there is no {RECORDINGS} in {here} or above it",
        code="no_recordings",
        hints=("name a folder with --into, --from or PATH",),
    )


def _record(pin: Pin, wanted: tuple[str, ...], root: Path, count: int) -> int:
    from rich.console import Console
    from rich.progress import Progress

    from git_agent_fixtures.engines import cache_directory
    from git_agent_fixtures.recording.record import record as played

    status = 0
    with Progress(console=Console(file=sys.stdout), transient=True, disable=not sys.stdout.isatty()) as bar:
        task = bar.add_task(str(pin), total=count)
        for result in played(pin, wanted, root, cache_directory(os.environ)):
            bar.advance(task)
            if result.problem is not None:
                status = 1
                warn(f"{pin.engine} {pin.version} {result.situation} was not recorded: {result.problem}")
            else:
                print(shown(f"{pin.engine} {pin.version} {result.situation}: {_line(result)}"), flush=True)
    return status


def _line(result: Result) -> str:
    if result.recording is None:
        return "this version cannot express it"
    truth = result.recording.truth
    resumed = f", resumed {truth.resumed}" if truth.resumed else ""
    where = "" if truth.session is None else f", session {'printed' if truth.printed else 'not printed'}"
    return f"{truth.status}{resumed}{where}"


def _together(pins: list[Pin], wanted: tuple[str, ...], root: Path, jobs: int) -> int:
    """Each version in a process of its own: what one does to signals and directories is no other's business."""
    flags = [word for name in wanted for word in ("--situation", name)]

    def one(pin: Pin) -> int:
        argv = ("fixtures", "record", f"{pin.engine}@{pin.version}", "--into", str(root), *flags)
        program = python("git_agent_runner.entry", *argv)
        with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
        return process.returncode

    with ThreadPoolExecutor(jobs) as pool:
        return max(pool.map(one, pins))


def _told(found: Recording) -> dict[str, Any]:
    from git_agent_fixtures.recording.check import is_help, transcript

    read: dict[str, Any] | None = None
    if not is_help(found):
        seen = transcript(found)
        read = {
            "session": seen.session.value,
            "source": seen.source,
            "status": seen.status,
            "model": seen.model,
            "events": seen.events,
            "unknownEvents": seen.unknown_events,
        }
    return {
        "facts": found.facts._asdict(),
        "truth": found.truth._asdict(),
        "turns": list(found.turns),
        "files": {name: len(data) for name, data in found.files.items()},
        "read": read,
    }


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return "none" if value is None else str(value)
