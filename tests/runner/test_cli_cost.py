"""What an attempt cost is its own, though claude tells what the whole session has cost so far. Faults B3.

claude 2.1.332 told 0.00028 for each turn of its session that it had done, whatever process did it (04 to 06b of the
resumes that were recorded); 2.1.200 and older tell what their own process cost.
"""

from __future__ import annotations

import json

import pytest

from support.cli import Cli

ID = "8fe03d74-77e1-4cea-9127-7d706ad98311"


def out(cli: Cli, cost: float | None) -> dict[str, str]:
    """The environment in which the stand-in prints a turn with this figure, or is killed before it prints one."""
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": ID,
        "result": "done",
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "total_cost_usd": cost,
    }
    lines = [{"type": "system", "subtype": "init", "session_id": ID}, *([result] if cost is not None else [])]
    path = cli.home / f"printed-{cost}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"FAKE_OUT": str(path), "FAKE_ID": ID}


def cost(cli: Cli, *words: str, told: float | None, version: str = "2.1.332") -> float | None:
    """What `--json` tells of an attempt of which claude told `told`."""
    environ = {**out(cli, told), "FAKE_VERSION": version}
    usage = cli.run(*words, stdin=None, cwd=None, **environ).json["usage"]
    found = (usage or {}).get("cost_usd")
    return None if found is None else round(found, 6)


def test_each_attempt_has_its_own_cost(cli: Cli) -> None:
    again = ("resume", "--json", "go on")
    costs = [cost(cli, "start", "-e", "claude", "--json", "begin", told=0.0003)]
    costs += [cost(cli, *again, told=told) for told in (0.0006, None, 0.0015)]
    assert costs == [0.0003, 0.0003, None, 0.0009]  # the third told nothing: the fourth has its part
    told = [json.loads(line) for line in cli.ok("log", "--json").out.splitlines()]
    listed = [round(event["data"]["cost_usd"], 6) for event in told if "cost_usd" in event["data"]]
    assert listed == [0.0003, 0.0003, 0.0009]
    assert "$0.0003" in cli.ok("log").out
    assert "$0.0006" not in cli.ok("log").out


def test_a_version_that_tells_its_own_cost_is_believed(cli: Cli) -> None:
    assert cost(cli, "start", "-e", "claude", "--json", "begin", told=0.0003, version="2.1.200") == 0.0003
    assert cost(cli, "resume", "--json", "go on", told=0.0004, version="2.1.200") == 0.0004


def test_the_cost_of_an_adopted_session_is_not_known(cli: Cli) -> None:
    cost(cli, "start", "-e", "claude", "--json", "begin", told=0.0003)
    cli.ok("prune", cli.record().handle)
    cli.ok("adopt", "claude", ID)
    assert cost(cli, "resume", "--json", "go on", told=0.0009) is None
    assert cost(cli, "resume", "--json", "go on", told=0.0011) == pytest.approx(0.0002)
