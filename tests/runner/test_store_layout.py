"""Where things live: names that people and strangers typed never become a path of their choosing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.store.files.layout import Layout, handle_of, is_handle, is_run_id, new_handle, new_run_id

LAYOUT = Layout("/r/.git")
RUN = "20261127T101502Z-codex-7f3a9c21"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(LAYOUT.index_file("7f3a9c21"), "/r/.git/agent/index/7f3a9c21.yaml", id="record"),
        pytest.param(LAYOUT.run(RUN), f"/r/.git/agent/runs/{RUN}", id="run"),
        pytest.param(LAYOUT.attempt(RUN, 12), f"/r/.git/agent/runs/{RUN}/attempts/0012", id="attempt"),
        pytest.param(LAYOUT.run_lock("7f3a9c21"), "/r/.git/agent/locks/run-7f3a9c21", id="lock of a run"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("../../x", id="escapes the folder"),
        pytest.param("7F3A9C21", id="upper case"),
        pytest.param("7f3a9c2", id="short"),
        pytest.param("7f3a9c211", id="long"),
        pytest.param("7f3a9c2\n", id="line break"),
        pytest.param("--format", id="flag"),
        pytest.param("७f3a9c21", id="another script's digit"),
        pytest.param("", id="empty"),
    ],
)
@pytest.mark.parametrize("path_of", [LAYOUT.index_file, LAYOUT.run_lock, LAYOUT.record_lock])
def test_no_path_from_what_is_no_handle(text: str, path_of: Callable[[str], str]) -> None:
    assert not is_handle(text)
    with pytest.raises(UserError) as caught:
        path_of(text)
    assert caught.value.code == "handle_malformed"
    assert caught.value.message.isascii()
    assert caught.value.hints == ("a handle is 8 characters of 0-9 and a-f; `git agent list` shows them",)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"../{RUN}", id="escapes the folder"),
        pytest.param(f"{RUN}/..", id="goes up again"),
        pytest.param(RUN.replace("codex", "co/dex"), id="slash in the engine"),
        pytest.param(RUN.replace("codex", ".."), id="dots for an engine"),
        pytest.param(f"{RUN}\n", id="line break"),
    ],
)
def test_no_path_from_what_is_no_run_id(text: str) -> None:
    assert not is_run_id(text)
    with pytest.raises(UserError) as caught:
        LAYOUT.run(text)
    assert caught.value.code == "run_id_malformed"


def test_a_run_id_is_in_utc_and_ends_with_its_handle() -> None:
    moment = datetime(2026, 11, 27, 12, 15, 2, tzinfo=timezone(timedelta(hours=2)))
    made = new_run_id(moment, "codex", "7f3a9c21")
    assert made == RUN
    assert handle_of(made) == "7f3a9c21"


@pytest.mark.parametrize(
    ("moment", "engine", "suffix"),
    [
        pytest.param(datetime(2026, 11, 27), "codex", "7f3a9c21", id="no time zone"),
        pytest.param(datetime(2026, 11, 27, tzinfo=UTC), "../x", "7f3a9c21", id="engine is a path"),
        pytest.param(datetime(2026, 11, 27, tzinfo=UTC), "codex", "7f3a9c2", id="suffix too short"),
    ],
)
def test_no_run_id_from_bad_parts(moment: datetime, engine: str, suffix: str) -> None:
    with pytest.raises(ValueError, match="cannot make a run id"):
        new_run_id(moment, engine, suffix)


def test_new_handles_are_handles_and_differ() -> None:
    drawn = {new_handle() for _ in range(50)}
    assert len(drawn) == 50
    assert all(map(is_handle, drawn))
