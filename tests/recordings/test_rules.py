"""Each rule of each profile is held by a recording: without it the suite says which engine, version and situation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_extractors.profile import Profile
from git_agent_extractors.profiles import profile_of
from git_agent_fixtures.recording import folder
from git_agent_fixtures.story import tell
from recordings.recorded import places, runs


def _kinds(place: Path) -> set[str]:
    """The types of the JSON lines on stdout."""
    found = set()
    for line in folder.read_files(place).get("stdout", b"").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("type"), str):
            found.add(value["type"])
    return found


def _cases() -> dict[tuple[str, str], Path]:
    """Engine and type -> the first recording that has it. Nothing else of it is read: every worker collects."""
    cases: dict[tuple[str, str], Path] = {}
    for place in places():
        for kind in _kinds(place):
            cases.setdefault((place.parts[-3], kind), place)
    return cases


CASES = _cases()
RULES = [(engine, kind) for engine, kind in sorted(CASES) if kind in profile_of(engine).kinds]


def without(profile: Profile, kind: str) -> Profile:
    return profile._replace(kinds={name: rule for name, rule in profile.kinds.items() if name != kind})


@pytest.mark.parametrize(("engine", "kind"), RULES, ids=str)
def test_a_rule_that_is_taken_out_is_missed(engine: str, kind: str) -> None:
    recording, profile = folder.read(CASES[engine, kind]), profile_of(engine)
    assert tell(recording, profile).transcript.unknown_events == {}
    assert tell(recording, without(profile, kind)).text != tell(recording, profile).text


def test_every_type_that_an_engine_printed_has_a_rule() -> None:
    assert sorted(set(CASES) - set(RULES)) == []


@pytest.mark.parametrize("engine", sorted({engine for engine, _ in RULES}))
def test_the_rule_of_the_id_is_missed(engine: str) -> None:
    profile = profile_of(engine)._replace(session=lambda _obj, _first: None)
    printed = [one for one in runs() if one.facts.engine == engine and one.truth.printed]
    lost = [one for one in printed if tell(one, profile).transcript.session.value is None]
    assert lost
