"""Fifty runs over ten work trees, a model on a bad day, and a watch that is killed: every run ends as its policy says.

The model server's log is the judge: what it was asked, when, and in which conversation.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from git_agent_fixtures.engines import NEWEST
from support.waiting import until
from system.support import ALLOW, World, alive

pytestmark = pytest.mark.long_matrix(64)

TREES, EACH, ATTEMPTS = 10, 5, 3
AT_ONCE = 4
POLICY = f"""
on_dead = {{ action = "resume", message = "FLAKY go on", append = true, attempts = {ATTEMPTS} }}
on_error = {{ action = "resume", message = "FLAKY go on", append = true, attempts = {ATTEMPTS}, cooldown = "250ms" }}
"""
SLACK = 1.5  # seconds between the clock of a record and the server's


class Attempt(NamedTuple):
    """When an attempt was at work, and on which session."""

    handle: str
    number: int
    session: str
    begun: float
    ended: float


@pytest.mark.parametrize("pin", [pin for pin in NEWEST if pin.engine in ("codex", "claude")], ids=str, scope="session")
def test_fifty_runs(world: World, tmp_path: Path) -> None:
    policies = world.home.root / ".config/git-agent/policies.toml"
    policies.parent.mkdir(parents=True, exist_ok=True)
    policies.write_text(POLICY)
    places = [tmp_path / f"tree{number}" for number in range(TREES)]
    for number, place in enumerate(places):
        world.git("worktree", "add", "-q", "-b", f"tree{number}", str(place))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = pool.map(lambda number: begin(world, places[number % TREES], number), range(TREES * EACH))
        until(lambda: any((world.repo / ".git/agent/index").glob("*.yaml")), "a run has begun")
        watch = watching(world)
        time.sleep(4)
        watch.kill()  # its workers work on
        watch.wait()
        watch = watching(world)
        assert len(list(begun)) == TREES * EACH
    # One that ended before the first watch saw it, and is not its branch's newest, is nobody's charge.
    out, err = watch.communicate()
    assert watch.returncode in (0, 1), err
    judge(world, json.loads(out))
    assert alive(world.home) == []


def begin(world: World, place: Path, number: int) -> int:
    """One run; of every seventh git-agent is killed, engine and all."""
    prompt = f"--prompt=MK{number:03} FLAKY"
    there = world._replace(repo=place)
    if number % 7:
        return there.agent("start", "-e", world.pin.engine, prompt, "--", *ALLOW[world.pin.engine]).status
    process = there.spawn("start", "-e", world.pin.engine, prompt, "--", *ALLOW[world.pin.engine])
    files = Path(there.git("rev-parse", "--path-format=absolute", "--git-common-dir")) / "agent/runs"
    mark = f"MK{number:03}"
    until(
        lambda: process.poll() is not None or (known(files, mark) and asked(world, mark)),
        "it is asked, its session known",
    )
    process.kill()
    return process.wait()


def asked(world: World, marker: str) -> bool:
    return any(marker in entry.markers for entry in world.requests())


def known(files: Path, marker: str) -> bool:
    """Has the attempt with this prompt learned its session? Of several that nobody knows, none would be taken."""
    texts = [file.read_text() for file in files.glob("*/attempts/0001/attempt.yaml")]
    return any(f'message: "{marker} ' in text and '"value": "' in text for text in texts)


def watching(world: World) -> subprocess.Popen[str]:
    return world.spawn("watch", "--json")


def judge(world: World, told: dict[str, Any]) -> None:
    runs = json.loads(world.agent("list", "--all", "--json").out)["runs"]
    assert len(runs) == TREES * EACH
    told_of = {run["handle"]: run for run in told["runs"]}
    for run in runs:
        facts = world.facts(run["handle"])
        tried = len(facts["attempts"]) - 1
        assert facts["state"] == "finished", facts
        assert tried <= ATTEMPTS + 1, facts  # the one that died first is another trouble
        if run["status"] != "completed" and (last := told_of.get(run["handle"])):
            assert (last["end"], f"resume was tried {ATTEMPTS} times" in last["reason"]) == ("escalated", True), last
    every = sorted(attempts(world, runs), key=lambda attempt: attempt.begun)
    by_session = defaultdict(list)
    for attempt in every:
        by_session[attempt.session].append(attempt)
    for session, mine in by_session.items():
        assert len({attempt.handle for attempt in mine}) == 1, session
        for one, next_one in pairwise(mine):
            assert one.ended <= next_one.begun + SLACK, f"two writers of {session}: {one}, {next_one}"
    asked_in_its_time(world, every)


def attempts(world: World, runs: list[dict[str, Any]]) -> Iterator[Attempt]:
    for run in runs:
        facts = world.facts(run["handle"])
        for found in facts["attempts"]:
            begun, ended = (datetime.fromisoformat(found[key]).timestamp() for key in ("startedAt", "endedAt"))
            yield Attempt(run["handle"], found["number"], facts["session"]["value"], begun, ended)


def asked_in_its_time(world: World, every: list[Attempt]) -> None:
    """The run's prompt reached the model from its first attempt, and nothing did outside of an attempt.

    No conversation holds more messages to go on than attempts were begun to send one.

    What asks for the same again is the engine itself, within its attempt.
    """
    mine = defaultdict(list)
    for attempt in every:
        mine[world.facts(attempt.handle)["attempts"][0]["message"].split()[0]].append(attempt)
    for entry in world.requests():
        marker = next(iter(entry.markers), "")
        later = [one for one in mine[marker] if one.number > 1 and one.begun <= entry.time + SLACK]
        sent = [text for text in entry.users if "go on" in text.head]
        assert len(sent) <= len(later), f"a message was sent twice: {marker}, {entry.users}"
        windows = [one.number for one in mine[marker] if one.begun - SLACK <= entry.time <= one.ended + SLACK]
        assert windows, (marker, entry.time, mine[marker])
        if marker in entry.users[-1].head:
            assert 1 in windows, (marker, entry.time, mine[marker])
