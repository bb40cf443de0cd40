"""What holds for every engine of the table, whatever its command line looks like."""

from __future__ import annotations

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.contract import PROMISES, Sample, compiled, launch
from git_agent_runner.engines.spec import Version

UUID = "0199c9a8-5b1e-7a10-8f00-1234567890ab"
SESSIONS = {
    "codex": UUID,
    "claude": UUID,
    "gemini": UUID,
    "opencode": "ses_1f2e3d4c5b6aABCDEFGHijklmn",
    "iflow": f"session-{UUID}",
    "qwen": UUID,
    "copilot": UUID,
}
NEWEST: dict[str, Version] = {
    "codex": (0, 171, 0),
    "claude": (2, 1, 332),
    "gemini": (0, 61, 0),
    "opencode": (1, 18, 33),
    "iflow": (0, 5, 19),
    "qwen": (0, 24, 4),
    "copilot": (1, 0, 102),
}
every_engine = pytest.mark.parametrize("name", MODULES)


def sample(name: str) -> Sample:
    return Sample(NEWEST[name], SESSIONS[name])


def test_the_samples_cover_the_table() -> None:
    assert set(SESSIONS) == set(NEWEST) == set(MODULES)


@every_engine
@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_is_kept(name: str, promise: str) -> None:
    assert list(PROMISES[promise](load(name), sample(name))) == []


@every_engine
def test_names_are_the_contracts(name: str) -> None:
    engine = load(name)
    assert engine.name == name
    assert engine.field in {"thread_id", "session_id", "session-id", "sessionID", "sessionId"}


@every_engine
def test_every_engine_has_a_terminal_form(name: str) -> None:
    engine = load(name)
    for message in ("go on", None):
        given = launch(engine, sample(name), message=message, terminal=True)
        assert [form for form, _ in compiled(engine, given)] == ["start", "resume"]


@every_engine
@pytest.mark.parametrize("session", ["latest", "1", UUID.upper()])
def test_a_name_for_some_session_is_no_id(name: str, session: str) -> None:
    with pytest.raises(UserError) as error:
        load(name).resume(launch(load(name), sample(name))._replace(session=session))
    assert error.value.code == "session_malformed"
