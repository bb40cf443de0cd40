"""Many runs of one repository: `resume --all` over dead, failed, live and finished ones, and `watch` over them."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.waiting import until
from system.support import ALLOW, World, alive, end_all, succeeded
from system.test_kills import stopped

LIVE = "it is still running; --kill ends it first"


@pytest.fixture
def trees(world: World, tmp_path: Path) -> dict[str, World]:
    """A work tree with a run of two turns for each name; what the second came to is in the name."""
    made = {}
    for number, name in enumerate(("dead", "failed", "live", "fine")):
        place = tmp_path / name
        world.git("worktree", "add", "-q", "-b", name, str(place))
        made[name] = world._replace(repo=place)
        made[name].start(f"MK{number}0 begin", *ALLOW[world.pin.engine])
    process = slow(made["dead"], "MK01")
    process.kill()
    end_all(world.home)
    process.wait()
    assert made["failed"].agent("resume", "--message=MK11 AUTHFAIL").status != 0
    return made


def slow(world: World, marker: str) -> subprocess.Popen[str]:
    """`git-agent resume`, the model's reply dripping in."""
    process = world.spawn("resume", f"--message={marker} SLOWSTREAM")
    until(lambda: asked(world, marker) or stopped(process), "it is asked")
    return process


def asked(world: World, marker: str) -> list[tuple[str, ...]]:
    """The markers of the conversations whose newest message has this one."""
    turns = [entry for entry in world.requests() if entry.users and marker in entry.users[-1].head]
    return [tuple(dict.fromkeys(entry.markers)) for entry in turns]


def all_of(world: World, status: int, *words: str) -> tuple[dict[str, str], dict[str, str]]:
    """What `resume --all` came to: the status of each run that ran, and the reasons of the others, by branch."""
    done = world.agent("resume", "--all", "--json", *words)
    assert done.status == status, (done.out, done.err)
    told: dict[str, Any] = json.loads(done.out)
    runs = json.loads(succeeded(world.agent("list", "--all", "--json")).out)["runs"]
    branch = {run["handle"]: run["branch"] for run in runs}
    resumed = {one["branch"]: one["status"] for one in told["resumed"]}
    assert {one["resumed"] for one in told["resumed"]} <= {"yes", "forked", None}
    return resumed, {branch[one["handle"]]: one["reason"] for one in told["skipped"]}


def foretold(world: World, *words: str) -> tuple[dict[str, str], int]:
    """What `resume --all --dry-run` says would become of each that goes on, by branch, and its exit status."""
    done = world.agent("resume", "--all", "--dry-run", "--json", "--message=MK66 never sent", *words)
    assert asked(world, "MK66") == []
    return {one["branch"]: one["kind"] for one in json.loads(done.out)["resumed"]}, done.status


@pytest.mark.engine_independent
def test_dead_failed_live_and_finished_runs(world: World, trees: dict[str, World]) -> None:
    living = slow(trees["live"], "MK21")
    assert foretold(world) == ({"dead": "resume", "failed": "resume"}, 0)
    assert all_of(world, 0, "--jobs=2", "--message=MK77 all of you") == (
        {"dead": "completed", "failed": "completed"},
        {"live": LIVE},
    )
    told = asked(world, "MK77")
    assert {marks[0] for marks in told} == {"MK00", "MK10"}
    assert all("MK77" in marks for marks in told)
    assert trees["fine"].facts()["attempts"][-1]["number"] == 1

    if living.poll() is None:
        living.kill()
    end_all(world.home)
    living.wait()
    succeeded(trees["live"].agent("resume", "--message=MK22 and on"))
    living = slow(trees["live"], "MK23")
    assert all_of(world, 0, "--kill", "--message=MK78 all of you") == ({"live": "completed"}, {})
    living.wait()
    assert "MK23" in asked(world, "MK78")[0] or "MK22" in asked(world, "MK78")[0]
    assert alive(world.home) == []


@pytest.mark.long_matrix(64)
def test_strict_and_lenient_where_a_session_is_gone(world: World, trees: dict[str, World]) -> None:
    """That run alone fails, or begins again; the other one goes on all the same."""
    lost = trees["failed"].facts()
    index = world.repo / ".git/agent/index" / f"{lost['handle']}.yaml"
    value = lost["session"]["value"]
    index.write_text(index.read_text().replace(value, value[:-4] + other(value[-4:])))
    assert foretold(world, "--strict") == ({"dead": "resume"}, 1)
    assert foretold(world) == ({"dead": "resume", "failed": "fresh"}, 0)
    resumed, skipped = all_of(world, 1, "--strict", "--message=MK77 strictly")
    assert resumed == {"dead": "completed"}
    assert list(skipped) == ["failed"]
    assert skipped["failed"].startswith("Session resumption failed: ")
    assert all_of(world, 0, "--message=MK78 leniently") == ({"failed": "completed"}, {})
    assert [marks for marks in asked(world, "MK78") if "MK10" in marks] == []
    assert trees["failed"].facts()["attempts"][-1]["kind"] == "fresh"


def other(text: str) -> str:
    """Another text of the same shape."""
    return "".join(chr(ord(sign) ^ 1) if sign.isdigit() else {"a": "b"}.get(sign, "a") for sign in text)


@pytest.mark.long_matrix(64)
def test_watch_until_all_is_well(world: World, trees: dict[str, World]) -> None:
    """What died and what failed is resumed once; what is finished, and what a person ended, is left alone."""
    policies = world.home.root / ".config/git-agent/policies.toml"
    policies.parent.mkdir(parents=True, exist_ok=True)
    policies.write_text(
        'on_dead = { action = "resume", message = "MK88 go on", append = true }\n'
        'on_error = [ { match = "auth_failed", action = "resume", message = "MK88 go on", append = true } ]\n'
    )
    done = world.agent("watch", "--json", XDG_CONFIG_HOME=str(policies.parents[1]))
    assert done.status == 0, done.err
    assert {(run["branch"], run["actions"], run["end"]) for run in json.loads(done.out)["runs"]} == {
        ("dead", 1, None),
        ("failed", 1, None),
    }
    assert Counter(marks[0] for marks in asked(world, "MK88")) == {"MK00": 1, "MK10": 1}
    assert {name: tree.facts()["status"] for name, tree in trees.items()} == dict.fromkeys(trees, "completed")
    assert alive(world.home) == []
