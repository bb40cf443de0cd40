"""Option tables against the help texts of every recorded version: no flag stands where its version does not have it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from git_agent_fixtures.recording import folder
from git_agent_fixtures.recording.check import is_help
from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.spec import Option, Version, dotted, within
from recordings.recorded import FLAG, ROOT, Help, helps

# Accepted and not named in help; the option's own `source` says what proves it.
HIDDEN = {
    "claude": {
        "--advisor",
        "--append-system-prompt-file",
        "--channels",
        "--cloud",
        "--dangerously-load-development-channels",
        "--debug-to-stderr",
        "--enable-auto-mode",
        "--init",
        "--init-only",
        "--maintenance",
        "--managed-settings",
        "--max-thinking-tokens",
        "--max-turns",
        "--permission-prompt-tool",
        "--plan-mode-instructions",
        "--prefill",
        "--resume-session-at",
        "--rewind-files",
        "--system-prompt-file",
        "--task-budget",
        "--teleport",
        "--thinking",
    },
    "copilot": {"--config-dir", "--no-sandbox", "--sandbox"},
    "codex": {"--full-auto", "--include-non-interactive", "--last", "--remote-auth-token-env"},
    "opencode": {"--dangerously-skip-permissions", "--demo", "--replay"},
    "qwen": {"--experimental-acp", "--no-chat-recording"},
}
# Flags of other subcommands that share a name with one of `run`.
ELSEWHERE = {"opencode": {"--password", "--port"}}

# Rows whose recording was imported: what its command line was is told by its name only.
UNTOLD = {"claude": [(("--max-turns",), "claude/2.1.76/x16-start-max-turns1")]}

every_version = pytest.mark.parametrize("known", list(helps()), ids=lambda one: f"{one.engine}-{dotted(one.version)}")


def wrong(known: Help, options: tuple[Option, ...]) -> tuple[set[str], set[str]]:
    """(said to be there and not in the help, said not to be there and in the help), by their first names."""
    there = {option for option in options if within(known.version, option.since, option.until)}
    missing = {option.names[0] for option in there if known.flags.isdisjoint(option.names)}
    extra = {option.names[0] for option in set(options) - there if not known.flags.isdisjoint(option.names)}
    return missing - HIDDEN.get(known.engine, set()), extra - ELSEWHERE.get(known.engine, set())


@every_version
def test_the_table_says_what_the_help_says(known: Help) -> None:
    assert wrong(known, load(known.engine).options) == (set(), set()), f"{known.engine} {dotted(known.version)}"


def test_a_flag_that_is_moved_is_noticed() -> None:
    """Each one that a help text names, made younger than the oldest version that has it, or taken out of the newest."""
    by_engine: dict[str, list[Help]] = {}
    for known in helps():
        by_engine.setdefault(known.engine, []).append(known)
    for engine, versions in by_engine.items():
        for option in load(engine).options:
            named = [known for known in versions if within(known.version, option.since, option.until)]
            seen = [known for known in named if not known.flags.isdisjoint(option.names)]
            if seen:
                first, last = min(known.version for known in seen), max(known.version for known in seen)
                for moved in (option._replace(since=_next(first)), option._replace(until=last)):
                    assert any(wrong(known, (moved,)) != (set(), set()) for known in versions) or (
                        option.names[0] in ELSEWHERE.get(engine, set())
                    ), (engine, option.names)


def _next(version: Version) -> Version:
    return (*version[:-1], version[-1] + 1)


@cache
def shown(place: Path) -> frozenset[str]:
    """The flags in a recording's command line, or in what it printed if that is a help text."""
    one = folder.read(place)
    if is_help(one):
        return frozenset(FLAG.findall("\n".join(data.decode(errors="replace") for data in one.files.values())))
    return frozenset(word.partition("=")[0] for word in one.facts.argv)


# faults F10
@pytest.mark.parametrize("engine", MODULES)
def test_every_recording_that_a_row_cites_is_there_and_shows_the_flag(engine: str) -> None:
    """`*` stands for any version. Issues, changelogs and bundles are cited in words."""
    cited = [option for option in load(engine).options if option.source.startswith((f"{engine}/", f"{engine} --help"))]
    wrong = [
        (option.names, option.source)
        for option in cited
        if not any(shown(place).intersection(option.names) for place in sorted(ROOT.glob(option.source)))
    ]
    assert wrong == UNTOLD.get(engine, [])
