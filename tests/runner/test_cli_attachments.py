"""What is attached to one message goes with that message and with no other. Faults B7."""

from __future__ import annotations

import pytest

from git_agent_runner.store.records.index import Index
from support.cli import Cli

# The flags of `<engine> --help` that attach a file to the prompt.
ATTACHED = [("codex", "-i"), ("opencode", "--file"), ("claude", "--file"), ("copilot", "--attachment")]


def files(cli: Cli) -> list[str]:
    """The files that the last stand-in was given, by any of its words."""
    return [word.rpartition("=")[2] for word in cli.calls()[-1]["argv"] if word.endswith(".png")]


@pytest.mark.parametrize(("engine", "flag"), ATTACHED)
def test_an_attachment_is_not_sent_again(cli: Cli, engine: str, flag: str) -> None:
    begun = cli.begin(engine, "--", flag, "first.png", "--model", "m-5")
    assert files(cli) == ["first.png"]
    assert begun.launch_args == cli.attempt(1).launch_args == ("--model", "m-5")
    cli.ok("resume", "look at this", "--", flag, "second.png")
    assert files(cli) == ["second.png"]
    cli.ok("resume", "and now")
    assert files(cli) == []
    assert "m-5" in cli.calls()[-1]["argv"]


@pytest.mark.parametrize("words", [["resume"], ["start", "--resume"], ["resume", "--fallback", "fresh"]])
def test_a_run_that_recorded_one_does_not_send_it_again(cli: Cli, words: list[str]) -> None:
    begun = cli.begin("codex")
    recorded = ("--image", "first.png", "--model", "m-5")
    Index(cli.layout).update(begun.handle, lambda old: old._replace(launch_args=recorded))
    cli.ok(*words, "and now")
    assert files(cli) == []
    assert "m-5" in cli.calls()[-1]["argv"]
    assert cli.record().launch_args == ("--model", "m-5")
