"""The contract can fail: an engine that breaks one promise is told so, by that promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.contract import PROMISES, Sample, broken
from git_agent_runner.engines.spec import Engine, Launch, Option
from support.added import SESSION, engine

SAMPLE = Sample((1, 10), SESSION)
Change = Callable[[Engine], Engine]
COUNTER = iter(range(1000))


def compiling(form: Callable[[Launch, Invocation], Invocation]) -> Change:
    """An engine whose command lines are changed by `form`; they are right otherwise."""

    def change(own: Engine) -> Engine:
        return own._replace(
            start=lambda launch: form(launch, own.start(launch)), resume=lambda launch: form(launch, own.resume(launch))
        )

    return change


def words(*more: str) -> Change:
    return compiling(lambda _, made: made._replace(argv=made.argv + more))


def option(*names: str, **facts: Any) -> Change:
    row = Option(names, source="a test")._replace(**facts)
    return lambda own: own._replace(options=(*own.options, row))


BREACHES = [
    pytest.param(
        lambda own: own._replace(parse_version=lambda _: None), "the example fits the engine", id="no version"
    ),
    pytest.param(
        lambda own: own._replace(first_resume=(2,)), "the example fits the engine", id="an example that is too old"
    ),
    pytest.param(
        compiling(lambda launch, made: made._replace(argv=(*made.argv, launch.message or ""), stdin=None)),
        "a message is carried once, and never as a flag",
        id="the message as a word",
    ),
    pytest.param(
        compiling(lambda _, made: made._replace(stdin=None)),
        "a message is carried once, and never as a flag",
        id="no message",
    ),
    pytest.param(
        compiling(lambda launch, made: made._replace(argv=(*made.argv, f"--prompt={launch.message}"))),
        "a message is carried once, and never as a flag",
        id="the message twice",
    ),
    pytest.param(words(SESSION), "a resume names its session once", id="the session twice"),
    pytest.param(
        lambda own: own._replace(resume=own.start),
        "a malformed session is refused",
        id="any session",
    ),
    pytest.param(
        compiling(lambda launch, made: made._replace(argv=(made.argv[0], *launch.args))),
        "flags keep their values, and old selectors, formats and messages are dropped",
        id="old flags",
    ),
    pytest.param(
        compiling(lambda _, made: made._replace(argv=made.argv[:2])),
        "flags keep their values, and old selectors, formats and messages are dropped",
        id="no flags",
    ),
    pytest.param(
        lambda own: compiling(
            lambda _, made: made._replace(argv=tuple(word for word in made.argv if "VALUE" not in word))
        )(option("--image", value="one", role="attachment")(own)),
        "an attachment goes with its message",
        id="an attachment that is lost",
    ),
    pytest.param(
        compiling(lambda _, made: made._replace(argv=(*made.argv, f"--at={next(COUNTER)}"))),
        "the same launch gives the same command line",
        id="another command line each time",
    ),
    pytest.param(
        compiling(lambda _, made: made._replace(cwd="/tmp")),
        "the engine's program is started in the run's directory",
        id="another directory",
    ),
    pytest.param(
        compiling(lambda _, made: made._replace(argv=("sh", *made.argv))),
        "the engine's program is started in the run's directory",
        id="another program",
    ),
    pytest.param(option("--model"), "flags have one row each, with a source", id="a flag in two rows"),
    pytest.param(
        option("--x", excludes=("--nosuch",)),
        "flags have one row each, with a source",
        id="excludes nothing",
    ),
    pytest.param(option("--x", source=""), "flags have one row each, with a source", id="no source"),
    pytest.param(
        option("--x", since=(2,), until=(1,)), "flags have one row each, with a source", id="removed before added"
    ),
    pytest.param(option("x"), "each flag by each name is kept or dropped with its value", id="a flag that is none"),
    pytest.param(option("x", since=(1, 5)), "a version without a flag rejects it", id="a flag that cannot be dated"),
    pytest.param(option("--sandbox"), "what lets an agent do more is marked", id="a sandbox"),
    pytest.param(
        lambda own: own._replace(trust="--model=x"), "the flag of trust is marked", id="trust that is not marked"
    ),
]


@pytest.mark.parametrize(("change", "promise"), BREACHES)
def test_a_broken_promise_is_named(change: Change, promise: str) -> None:
    assert broken(engine(), SAMPLE) == []
    assert promise in {name for name, _ in broken(change(engine()), SAMPLE)}


def test_every_promise_can_be_broken() -> None:
    assert {case.values[1] for case in BREACHES} == set(PROMISES)
