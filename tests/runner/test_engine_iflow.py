"""iflow, as documented: no iflow could be run, so the right values are those of its issues and public adapters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner.attempt.checks import fitting
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import launch_args
from git_agent_runner.engines.iflow.command import ENGINE, OPTIONS
from git_agent_runner.engines.refuse import check_version
from git_agent_runner.engines.spec import Launch, StoreQuery, Version

SITE = "/home/ada/site"
ID = "session-7895fd9b-5534-4722-9329-112e8ef3ba1e"
NEW: Version = (0, 5, 19)


def launch(*args: str, message: str | None = "fix it", session: str | None = None, terminal: bool = False) -> Launch:
    return Launch("iflow", NEW, args, message, session, SITE, SITE, terminal)


@pytest.mark.parametrize(
    ("made", "argv"),
    [
        pytest.param(ENGINE.start(launch()), ("iflow", "-p", "fix it"), id="start"),
        pytest.param(
            ENGINE.start(launch("--plan", "-m", "x", "-r", "-o", "f", "-p", "old")),
            ("iflow", "--plan", "-m", "x", "-p", "fix it"),
            id="start with flags",
        ),
        pytest.param(
            ENGINE.resume(launch("--plan", session=ID)), ("iflow", "-r", ID, "--plan", "-p", "fix it"), id="resume"
        ),
        pytest.param(
            ENGINE.resume(launch(message="- [ ] x", session=ID)), ("iflow", "-r", ID, "--prompt=- [ ] x"), id="dash"
        ),
        pytest.param(
            ENGINE.resume(launch(message="--help", session=ID)), ("iflow", "-r", ID, "--prompt=--help"), id="flag"
        ),
        pytest.param(
            ENGINE.start(launch(message="hi", terminal=True)), ("iflow", "--prompt-interactive=hi"), id="terminal start"
        ),
        pytest.param(
            ENGINE.resume(launch(message=None, session=ID, terminal=True)), ("iflow", "-r", ID), id="terminal"
        ),
    ],
)
def test_argv(made: Invocation, argv: tuple[str, ...]) -> None:
    """stdin is /dev/null: with a terminal there, `-r` with `-p` waited for a key (iflow-ai/iflow-cli#196)."""
    assert made == Invocation(argv, None, SITE)


@pytest.mark.parametrize("session", ["", "latest", ID.removeprefix("session-"), ID.upper(), f"{ID}\n", "--yolo", None])
def test_resume_refuses_a_value_of_another_shape(session: str | None) -> None:
    with pytest.raises(UserError) as raised:
        ENGINE.resume(launch(session=session))
    assert raised.value.code == "session_malformed"


@pytest.mark.parametrize("start", ["x", "-"])
def test_a_message_must_fit_into_one_argument(start: str) -> None:
    """Pitfall 12: exec fails with E2BIG from 128 KiB on, and iflow is given no other way in."""
    with pytest.raises(UserError) as raised:
        fitting(ENGINE.start(launch(message=start * 131_072)))
    assert raised.value.code == "message_too_large"


def test_continue_is_the_newest_session_of_the_directory() -> None:
    assert ENGINE.continue_ is not None
    assert ENGINE.continue_(launch("--plan")).argv == ("iflow", "-c", "--plan", "-p", "fix it")


def test_versions_before_the_known_good_one_are_bad() -> None:
    check_version(ENGINE, NEW)
    with pytest.raises(UserError, match="#196"):
        check_version(ENGINE, (0, 4, 0))


@pytest.mark.parametrize(
    ("args", "warned"),
    [((), True), (("-m", "x"), True), (("--plan",), False), (("--default",), False), (("--yolo",), False)],
    ids=str,
)
def test_a_run_without_a_mode_is_warned_of(args: tuple[str, ...], warned: bool) -> None:
    assert bool(ENGINE.launch_note(NEW, args)) is warned


def test_an_output_file_and_a_selector_are_not_recorded() -> None:
    assert launch_args(OPTIONS, ("-o", "f", "-r", ID, "-c", "--autoEdit", "--strange", "v")) == (
        "--autoEdit",
        "--strange",
        "v",
    )


def session_file(projects: Path, session: str, cwd: str, timestamp: str) -> None:
    path = projects / "-home-ada-site" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"type":"summary"}\n' + json.dumps({"type": "user", "cwd": cwd, "timestamp": timestamp}) + "\n")


@pytest.mark.parametrize("name", ["HOME", "IFLOW_HOME"])
def test_locate(tmp_path: Path, name: str) -> None:
    folder = tmp_path / ".iflow" if name == "HOME" else tmp_path
    query = StoreQuery({"HOME": "/nonexistent", name: str(tmp_path)}, SITE, NEW, ID)
    assert ENGINE.locate(query).state == "unknown"
    session_file(folder / "projects", ID, SITE, "2026-11-28T00:00:00.000Z")
    found = ENGINE.locate(query)
    assert (found.state, found.cwd) == ("present", SITE)
    assert ENGINE.locate(query._replace(session=f"session-{'0' * 8}{ID[16:]}")).state == "absent"


def test_created_since(tmp_path: Path) -> None:
    later = f"session-{'0' * 8}{ID[16:]}"
    session_file(tmp_path / "projects", later, SITE, "2026-11-28T00:00:02.000Z")
    session_file(tmp_path / "projects", ID, SITE, "2026-11-28T00:00:00.000Z")
    session_file(tmp_path / "projects", f"session-{'1' * 8}{ID[16:]}", "/elsewhere", "2026-11-28T00:00:00.000Z")
    query = StoreQuery({"IFLOW_HOME": str(tmp_path)}, SITE, NEW)
    assert ENGINE.created_since(query) == (ID, later)
    assert ENGINE.created_since(query._replace(since=1_795_824_001.0)) == (later,)
