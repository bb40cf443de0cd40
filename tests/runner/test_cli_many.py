"""Twenty at once in one repository with two work trees; and some of them killed, at any moment."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from git_agent_runner.store import attempts
from git_agent_runner.store.index import Index
from support.cli import Cli

ENGINES = ("codex", "claude")  # the stores of the others are one file for all, which our stand-ins do not lock
EXPLAINED = {"attempt_empty", "attempt_interrupted", "note_missing", "notes_not_carried"}
EXPLAINED |= {"record_missing", "run_empty", "scraps"}


@pytest.fixture
def two(cli: Cli, tmp_path: Path) -> tuple[Cli, Cli]:
    return cli, Cli(cli.repo.worktree(tmp_path / "linked", "feature"), cli.home)


def test_twenty_starts_at_once(two: tuple[Cli, Cli]) -> None:
    started = [
        two[n % 2].start("start", "-e", ENGINES[n // 2 % 2], f"number {n}", FAKE_ID="new", FAKE_EXIT=str(n % 3))
        for n in range(20)
    ]
    errors = [process.communicate(timeout=120)[1].decode() for process in started]
    assert [process.returncode for process in started] == [n % 3 for n in range(20)]
    assert [text for text in errors if "warning: the note" in text or "could not be" in text] == []
    cli = two[0]
    records, problems = Index(cli.layout).read_all()
    assert (len(records), problems, sorted(cli.noted())) == (20, [], sorted(record.handle for record in records))
    messages = {cli.attempt(1, record.handle).message: record for record in records}
    assert messages.keys() == {f"number {n}" for n in range(20)}
    for n in range(20):
        record = messages[f"number {n}"]
        want = (ENGINES[n // 2 % 2], ("main", "feature")[n % 2], str(two[n % 2].repo.path), "completed")
        assert (record.agent_name, record.branch, record.cwd, record.status) == want
    branch_of = {record.handle: record.branch for record in records}
    assert {branch: branch_of[handle] for branch, handle in cli.pointers().items()} == {
        "main": "main",
        "feature": "feature",
    }
    assert any("told once" in text for text in errors)
    assert cli.run("doctor").out == "nothing is wrong\n"


@pytest.mark.parametrize("seed", [1, 2])
def test_some_are_killed(two: tuple[Cli, Cli], seed: int) -> None:
    """No record that was complete is lost, and what was cut off is told and can be mended."""
    chance = random.Random(seed)
    cli = two[0]
    before = [cli.begin("codex", FAKE_ID="new").handle, two[1].begin("claude").handle]
    started = [
        two[n % 2].start("start", "-e", ENGINES[n // 2 % 2], f"number {n}", FAKE_ID="new", FAKE_CMD="sleep 0.3")
        for n in range(18)
    ]
    for process in chance.sample(started, 6):
        time.sleep(chance.random() * 0.4)
        process.kill()
    for process in started:
        process.communicate(timeout=120)
    done = [process for process in started if process.returncode == 0]
    records, problems = Index(cli.layout).read_all()
    completed = {record.handle for record in records if record.status == "completed"}
    assert problems == []
    assert set(before) <= completed
    assert len(completed) >= len(done) + 2
    assert completed <= set(cli.noted())
    found = cli.run("doctor", "--json").json["problems"]
    assert {problem["code"] for problem in found} <= EXPLAINED, found
    assert {row["handle"] for row in cli.ok("list", "--json").json["runs"]} == {record.handle for record in records}
    cli.run("doctor", "--repair")
    again, problems = Index(cli.layout).read_all()
    runs = [name for name in Path(cli.layout.runs_dir).iterdir() if attempts.latest(cli.layout, name.name)]
    assert (len(again), problems) == (len(runs), [])
    for each in two:
        assert each.run("resume", "go on", FAKE_ID="new").status in (0, 1, 128)
        assert each.run("status").status == 0
