"""`git agent drift`: what a new version of an engine changed. What does the work is in git_agent_fixtures, an extra."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from git_agent_runner.commands.fixtures import extra, recordings
from git_agent_runner.errors import UsageError, UserError
from git_agent_runner.present import print_json, say, warn
from git_agent_runner.text import shown

if TYPE_CHECKING:
    from git_agent_fixtures.drift.model import Finding, Report
    from git_agent_fixtures.recording.record import Result

SCHEMA = 1
SHOWN = 4  # situations named in one line


@click.command(short_help="Compare a new engine version with the last recorded one")
@click.argument("engines", metavar="[ENGINE]...", nargs=-1)
@click.option("--version", metavar="V", help="This version of the one ENGINE; otherwise npm's newest.")
@click.option("--against", metavar="V", help="Compare with this version; otherwise the newest recorded one below.")
@click.option("--situation", "wanted", metavar="S", multiple=True, help="Only this situation; may be repeated.")
@click.option("--record", "again", is_flag=True, help="Record the version even where it is recorded.")
@click.option(
    "--from", "root", metavar="DIR", type=click.Path(path_type=Path), help="Where; fixtures/recordings by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="Write the report as a page, too.")
def command(
    *,
    engines: tuple[str, ...],
    version: str | None,
    against: str | None,
    wanted: tuple[str, ...],
    again: bool,
    root: Path | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Record the newest version of ENGINE and compare it with the last recorded one; all recorded engines by default.

    Compared is what it prints, how it ends, how it resumes and what its --help takes. The exit status is 1 when
    anything moved that we rely on. The newest version is compared once; when it is recorded, there is nothing new.
    """
    with extra():
        import git_agent_fixtures.drift.run  # noqa: F401  its libraries are what may be missing
    if (version or against) and len(engines) != 1:
        raise UsageError("--version and --against are of one engine", hints=("name it: git agent drift ENGINE",))
    place = recordings() if root is None else root.absolute()
    names = engines or tuple(sorted(one.name for one in place.iterdir() if one.is_dir()))
    reports, errors = _reports(names, version, Asked(against, wanted, again), place)
    if html is not None:
        _write(html, reports)
    if as_json:
        failed = [{"engine": name, **_error(problem)} for name, problem in errors.items()]
        print_json({"schema": SCHEMA, "reports": [_object(one) for one in reports], "errors": failed})
    elif reports:
        print("\n\n".join(map(_text, reports)))
    for name, problem in errors.items():
        warn(f"{name}: {problem.message}", problem.hints)
    return 1 if any(one.moved for one in reports) else 0


class Asked(NamedTuple):
    """What is compared, whatever the engine: see the options."""

    against: str | None
    situations: tuple[str, ...]
    again: bool


def _reports(
    names: tuple[str, ...], version: str | None, asked: Asked, place: Path
) -> tuple[list[Report], dict[str, UserError]]:
    """Each engine for itself: of several, one that cannot be compared hides no other. One alone raises UserError."""
    reports: list[Report] = []
    errors: dict[str, UserError] = {}
    for name in names:
        try:
            reports.append(_of_engine(name, version, asked, place))
        except UserError as error:
            if len(names) == 1:
                raise
            errors[name] = error
    return reports, errors


def _of_engine(name: str, version: str | None, asked: Asked, place: Path) -> Report:
    """A version that is recorded already is no news: nothing was compared with it."""
    from git_agent_fixtures.drift.model import Report
    from git_agent_fixtures.drift.run import Wanted, versions
    from git_agent_fixtures.engines import exactly

    pin = exactly(name, version)
    if not (version or asked.against or asked.again) and pin.version in versions(place, name):
        return Report(name, pin.version, pin.version, (), (), ())
    return _report(Wanted(pin, *asked), place)


def _error(error: UserError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hints": list(error.hints)}


def _report(wanted: Any, place: Path) -> Report:
    from git_agent_fixtures.drift.run import drift
    from git_agent_fixtures.engines import cache_directory

    def tell(result: Result) -> None:
        if result.problem is not None:
            warn(f"{wanted.pin} {result.situation} was not recorded: {result.problem}")
        else:
            say(f"recorded {wanted.pin} {result.situation}")

    return drift(wanted, place, cache_directory(os.environ), tell)


def _write(file: Path, reports: list[Report]) -> None:
    with extra():
        from git_agent_fixtures.drift.page import page
    try:
        file.write_text(page(reports), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}", code="report_failed") from None


def _object(report: Report) -> dict[str, Any]:
    return {
        "engine": report.engine,
        "base": report.base,
        "version": report.version,
        "moved": report.moved,
        "situations": list(report.situations),
        "findings": [{**one._asdict(), "situations": list(one.situations)} for one in report.findings],
        "options": list(report.options),
    }


def _text(report: Report) -> str:
    if report.base == report.version:
        return f"{report.engine} {report.version} is recorded, and nothing newer is on the registry"
    lines = [f"{report.engine} {report.base} -> {report.version}: {_counted(len(report.situations))} compared"]
    relied = [one for one in report.findings if one.relied]
    others = [one for one in report.findings if not one.relied]
    for title, found in (("moved, and relied on:", relied), ("changed, and not relied on:", others)):
        if found:
            lines += ["", title, *map(_line, found)]
    if report.options:
        lines += ["", "rows for the option table:", *(f"  {row}" for row in report.options)]
    return "\n".join(lines if report.findings else [f"{lines[0]}, nothing changed"])


def _counted(number: int) -> str:
    return f"{number} situation{'s' * (number != 1)}"


def _line(finding: Finding) -> str:
    more = len(finding.situations) - SHOWN
    where = ", ".join(finding.situations[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    return shown(f"  {finding.area:<9} {finding.what}: {finding.before} -> {finding.after}  ({where})")
