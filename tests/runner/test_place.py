"""A session put where an engine looks for it: what it becomes there, and what is never touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner.context import load as load_context
from git_agent_runner.conversation import place
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import Piece, StoreQuery
from support.cli import Cli

OLD, NEW = "8fe03d74-77e1-4cea-9127-7d706ad98311", "46f1320d-7d5a-43e6-ad12-472c559b373e"
TIMED = "01a21f23-5ab8-7ef1-9437-807dbdda8fbf"
TURN = b'{"type":"user","cwd":"/old","sessionId":"%s","message":"\\"sessionId\\":\\"%s\\""}\n' % (2 * (OLD.encode(),))
NAMES = {
    "claude": (f"-old/{OLD}.jsonl", f"-new/{NEW}.jsonl"),
    "codex": (
        f"2026/11/28/rollout-2026-11-28T10-00-00-{OLD}.jsonl",
        f"2026/11/28/rollout-2026-11-28T10-00-00-{NEW}.jsonl",
    ),
    "gemini": (f"chats/session-2026-11-28T10-00-{OLD[:8]}.jsonl", f"chats/session-2026-11-28T10-00-{NEW[:8]}.jsonl"),
    "qwen": (f"{OLD}.jsonl", f"{NEW}.jsonl"),
    "copilot": (f"{OLD}/events.jsonl", f"{NEW}/events.jsonl"),
}


def query(home: Path, session: str = NEW, cwd: str = "/new") -> StoreQuery:
    return StoreQuery({"HOME": str(home)}, cwd, (99,), session)


@pytest.mark.parametrize("session", [OLD, TIMED, "ses_de0d732d2ffeZz8jXsLhQ5769v"])
def test_another_id_has_the_same_shape(session: str) -> None:
    engine = load("opencode" if session.startswith("ses_") else "codex")
    ids = {place.another(session, salt) for salt in ("a", "b", "c")}
    assert len(ids | {session}) == 4
    assert place.another(session, "a") in ids  # what was begun is found again
    assert all(engine.id_pattern.fullmatch(one) for one in ids)
    if session != OLD:
        assert {one[:13] for one in ids} == {session[:13]}  # its time is told by what it begins with


@pytest.mark.parametrize("session", ["", "session-c0ffee00-dddd-4aaa-9bbb-0123456789ab", "../x", OLD.upper()])
def test_an_id_of_an_unknown_shape_has_no_other(session: str) -> None:
    with pytest.raises(ValueError, match="is not known"):
        place.another(session, "a")


@pytest.mark.parametrize("engine", NAMES)
def test_only_the_keys_that_hold_the_id_change(engine: str, tmp_path: Path) -> None:
    """What was said in the conversation stays as it was, also where it tells the id."""
    laid = load(engine).laid
    assert laid
    (piece,) = laid(query(tmp_path), OLD, (Piece(NAMES[engine][0], TURN),))
    turn = json.loads(piece.data)
    assert (piece.name, turn["message"]) == (NAMES[engine][1], json.loads(TURN)["message"])
    assert turn["sessionId"] == (OLD if engine == "codex" else NEW)
    assert turn["cwd"] == ("/new" if engine == "qwen" else "/old")


@pytest.mark.parametrize("name", ["x.jsonl", "../x", "memory/MEMORY.md", f"/{OLD}.jsonl", f"a/b/c/{OLD}.jsonl", ""])
@pytest.mark.parametrize("engine", NAMES)
def test_what_is_no_file_of_the_session_goes_nowhere(engine: str, name: str, tmp_path: Path) -> None:
    laid = load(engine).laid
    assert laid
    with pytest.raises(ValueError, match="file"):
        laid(query(tmp_path), OLD, (Piece(NAMES[engine][0], TURN), Piece(name, b"x")))


@pytest.mark.parametrize("document", ["", "[]", "{}", '{"info": {"id": "ses_other"}}', '{"info": {"id": "%s"}}'])
def test_what_is_no_document_of_the_session_is_refused(document: str, tmp_path: Path) -> None:
    laid = load("opencode").laid
    assert laid
    with pytest.raises(ValueError):  # noqa: PT011  json says it in its own words
        laid(query(tmp_path), OLD, (Piece("", (document.replace("%s", OLD)).encode()),))


ONE = b'{"sessionId":"x"}\n'
WHOLE = [json.dumps({"messages": [{"id": n} for n in range(count)]}, indent=2).encode() for count in range(3)]


@pytest.mark.parametrize(
    ("there", "left"),
    [
        pytest.param(None, TURN + TURN, id="nothing"),
        pytest.param(TURN, TURN + TURN, id="earlier"),
        pytest.param(TURN + TURN + TURN, TURN + TURN + TURN, id="later"),
        pytest.param(ONE, None, id="another"),
    ],
)
def test_only_an_earlier_state_is_overwritten(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, there: bytes | None, left: bytes | None
) -> None:
    monkeypatch.chdir(cli.repo.path)
    path = cli.home / ".claude/projects" / NAMES["claude"][1]
    path.parent.mkdir(parents=True)
    if there is not None:
        path.write_bytes(there.replace(OLD.encode() + b'","m', NEW.encode() + b'","m'))
    before = path.read_bytes() if there else b""
    bundle = Bundle(OLD, (Piece(NAMES["claude"][0], TURN + TURN),))
    put = (load_context(), load("claude"), "claude", bundle, query(cli.home))
    if left is None:
        with pytest.raises(ValueError, match="another conversation is already there"):
            place.put(*put)
        assert path.read_bytes() == before
    else:
        place.put(*put)
        assert path.read_bytes() == left.replace(OLD.encode() + b'","m', NEW.encode() + b'","m')
        assert path.stat().st_mode & 0o777 == 0o600 or there is not None


@pytest.mark.parametrize(
    ("new", "old", "does"),
    [
        (b"ab", b"a", True),
        (b"a", b"ab", False),
        (WHOLE[2], WHOLE[1], True),
        (WHOLE[1], WHOLE[2], False),
        (WHOLE[1], b"{}", False),
        (b"null", b"[]", False),
        (b"[" * 9999, b"x", False),
    ],
)
def test_what_continues_what(new: bytes, old: bytes, does: bool) -> None:
    """gemini 0.36.0 keeps a session as one object, which it rewrites."""
    assert place.continues(new, old) is does
