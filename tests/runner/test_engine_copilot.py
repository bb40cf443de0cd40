"""copilot: what 1.0.102 was seen to take, and what its changelog says of versions before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines.arguments import launch_args, rejected
from git_agent_runner.engines.copilot.command import ENGINE
from git_agent_runner.engines.copilot.flags import OPTIONS
from git_agent_runner.engines.spec import Launch, Located, StoreQuery, Version

NEW: Version = (1, 0, 102)
UUID = "6139371d-6881-467e-b281-537696eec3f5"
OTHER = "f2dfd341-2c5a-4931-8d0e-4850aae6a0af"
FORM = ("--output-format", "json")


def launch(
    *args: str,
    message: str | None = "fix it",
    session: str | None = None,
    terminal: bool = False,
    version: Version = NEW,
) -> Launch:
    return Launch("copilot", version, args, message, session, "/w", "/elsewhere", terminal)


@pytest.mark.parametrize(
    ("made", "argv"),
    [
        pytest.param(ENGINE.start(launch(session=UUID)), (*FORM, f"--session-id={UUID}"), id="start"),
        pytest.param(
            ENGINE.start(launch("-n", "mine", "--trust-folder", session=UUID)),
            ("-n", "mine", "--trust-folder", *FORM, f"--session-id={UUID}"),
            id="start with what is for a start only",
        ),
        pytest.param(ENGINE.resume(launch(session=UUID)), (*FORM, "-C", "/w", f"--resume={UUID}"), id="resume"),
        pytest.param(
            ENGINE.resume(launch("-n", "mine", "--trust-folder", "--yolo", "-C", "/x", "-s", "-p", "o", session=UUID)),
            ("--yolo", *FORM, "-C", "/w", f"--resume={UUID}"),
            id="resume with flags",
        ),
        pytest.param(
            ENGINE.resume(launch(session=UUID, version=(1, 0, 41))), (*FORM, f"--resume={UUID}"), id="resume before -C"
        ),
    ],
)
def test_command_lines_of_copilot(made: object, argv: tuple[str, ...]) -> None:
    """ "The argument '--resume [<value>]' cannot be used with '--name <name>'", nor with '--trust-folder'."""
    assert made == (("copilot", *argv), b"fix it", "/w", ())


@pytest.mark.parametrize(
    ("made", "argv"),
    [
        pytest.param(
            ENGINE.start(launch(message="- x", session=UUID, terminal=True)),
            (f"--session-id={UUID}", "--interactive=- x"),
            id="start",
        ),
        pytest.param(
            ENGINE.resume(launch(message="- x", session=UUID, terminal=True)),
            ("-C", "/w", f"--resume={UUID}", "--interactive=- x"),
            id="resume",
        ),
        pytest.param(
            ENGINE.resume(launch(message=None, session=UUID, terminal=True)),
            ("-C", "/w", f"--resume={UUID}"),
            id="resume without a message",
        ),
    ],
)
def test_terminal_forms_of_copilot(made: object, argv: tuple[str, ...]) -> None:
    assert made == (("copilot", *argv), None, "/w", ())


@pytest.mark.parametrize("message", ["- [ ] do", "--help", "/clear", "@readme", '"quoted"', "x" * 200_000])
def test_messages_to_copilot_go_through_stdin(message: str) -> None:
    ENGINE.check_message(NEW, message)
    made = ENGINE.resume(launch(message=message, session=UUID))
    assert made.stdin == message.encode()
    assert message not in made.argv


@pytest.mark.parametrize("session", ["", "mine", "1", UUID.upper(), UUID[:8], UUID[:-1], f"{UUID}\n", "--yolo", None])
def test_resume_of_copilot_refuses_what_is_no_id(session: str | None) -> None:
    """The beginning of an id resumes that session, a bare `--resume` any (resume-prefix, resume-bare)."""
    with pytest.raises(UserError) as raised:
        ENGINE.resume(launch(session=session))
    assert raised.value.code == "session_malformed"


def test_copilot_before_its_json_is_refused() -> None:
    with pytest.raises(UserError) as raised:
        ENGINE.start(launch(version=(0, 0, 409)))
    assert raised.value.code == "engine_too_old"
    assert [bad.until for bad in ENGINE.bad] == [(0, 0, 422)]


@pytest.mark.parametrize("flags", [("--worktree",), ("-w", "x"), ("--config-dir", "/x")])
def test_flags_that_move_a_run_of_copilot_are_refused(flags: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as raised:
        ENGINE.start(launch(*flags))
    assert raised.value.code == "flag_refused"


def test_what_copilot_takes_for_a_start_only_is_said() -> None:
    assert "--trust-folder" in (ENGINE.launch_note(NEW, ("--trust-folder",)) or "")
    assert ENGINE.launch_note(NEW, ("--yolo",)) is None


def test_the_picker_of_copilot_takes_no_message() -> None:
    assert ENGINE.picker is not None
    assert ENGINE.picker(launch("-n", "x", message=None, terminal=True)).argv == ("copilot", "--resume")
    with pytest.raises(UserError):
        ENGINE.picker(launch(terminal=True))


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        pytest.param((1, 0, 50), "--session-id=x", id="session id"),
        pytest.param((1, 0, 34), "--name=x", id="name"),
        pytest.param((1, 0, 3), "--reasoning-effort=low", id="effort"),
        pytest.param(NEW, "--alt-screen", id="gone"),
    ],
)
def test_flags_of_other_versions_of_copilot(version: Version, flag: str) -> None:
    assert rejected(OPTIONS, (flag,), version) == (flag.partition("=")[0],)


def test_tools_of_copilot_keep_all_their_words() -> None:
    words = ("--allow-tool", "shell(git:*)", "write", "--model", "gpt-5.4", "left over")
    assert launch_args(OPTIONS, words) == (
        "--allow-tool=shell(git:*)",
        "--allow-tool=write",
        "--model",
        "gpt-5.4",
    )


def test_ids_of_copilot_are_made_up_where_it_takes_them() -> None:
    minted = ENGINE.mint((1, 0, 51))
    assert minted is not None
    assert ENGINE.id_pattern.fullmatch(minted)
    assert ENGINE.mint((1, 0, 50)) is None


def test_copilot_goes_where_it_is_told() -> None:
    """ "Sessions now resume in their saved working directory; pass -C <dir> to override" (1.0.52)."""
    assert ENGINE.elsewhere(NEW, False)
    assert ENGINE.elsewhere_note(NEW) == "copilot 1.0.102 moves the session here"
    assert ENGINE.elsewhere_note((1, 0, 51)) is None


def keep(home: Path, place: Path, session: str, when: str = "2026-11-28T07:13:34.447Z", *, turns: int = 1) -> Path:
    """As 1.0.102 begins its files, some fields left out."""
    context = {"cwd": str(place.resolve()), "gitRoot": str(place.resolve()), "branch": "feature/retry"}
    data = {"sessionId": session, "version": 1, "copilotVersion": "1.0.102", "startTime": when, "context": context}
    records = [
        {"type": "session.start", "data": data, "timestamp": when, "parentId": None},
        *[{"type": "user.message", "data": {"content": "MK1"}}] * turns,
    ]
    path = home / ".copilot" / "session-state" / session / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def query(home: Path, place: Path, session: str = UUID) -> StoreQuery:
    return StoreQuery({"HOME": str(home)}, str(place), NEW, session)


def test_locate_a_session_of_copilot(tmp_path: Path) -> None:
    """From anywhere; COPILOT_HOME stands for `~/.copilot`."""
    path = str(keep(tmp_path, tmp_path, UUID))
    assert ENGINE.locate(query(tmp_path, tmp_path / "other")) == Located("present", path)
    moved = {"HOME": str(tmp_path / "nobody"), "COPILOT_HOME": str(tmp_path / ".copilot")}
    assert ENGINE.locate(query(tmp_path, tmp_path)._replace(env=moved)).path == path


def test_locate_in_vain_of_copilot(tmp_path: Path) -> None:
    """No such folder, one without a turn, one that is something else."""
    assert ENGINE.locate(query(tmp_path, tmp_path)).state == "absent"
    keep(tmp_path, tmp_path, OTHER, turns=0)
    assert "no turn" in ENGINE.locate(query(tmp_path, tmp_path, OTHER)).detail
    keep(tmp_path, tmp_path, UUID).write_text("[]\n")
    assert ENGINE.locate(query(tmp_path, tmp_path)).state == "absent"


def test_sessions_that_copilot_made_here(tmp_path: Path) -> None:
    """Since then, begun in this directory, oldest first; a damaged one hides no other."""
    other = tmp_path / "other"
    other.mkdir()
    keep(tmp_path, tmp_path, UUID, "2026-11-28T07:13:35.000Z")
    keep(tmp_path, tmp_path, OTHER, "2026-11-28T07:13:34.447Z")
    keep(tmp_path, other, "0199c9a8-0000-7000-8000-00000000beef")
    keep(tmp_path, tmp_path, "0199c9a8-0000-7000-8000-00000000dead").write_text("{")
    begun = 1795850014.4471  # 2026-11-28T07:13:34.447Z, and a little
    assert ENGINE.created_since(query(tmp_path, tmp_path)._replace(since=begun)) == (OTHER, UUID)
    assert ENGINE.created_since(query(tmp_path, tmp_path)._replace(since=begun + 0.4)) == (UUID,)


@pytest.mark.parametrize(
    "message", ["/compact", "/compact now", " /compact", "\n/compact x", "/compact\nx", "/goal", "/autopilot go"]
)
def test_a_command_that_copilot_carries_out_is_refused(message: str) -> None:
    """Each was sent to 1.0.102: `/compact` replaces the conversation by a summary and exits 0. Faults G5."""
    with pytest.raises(UserError) as error:
        ENGINE.check_message((1, 0, 102), message)
    assert error.value.code == "message_refused"
    assert f"'/{message.split(maxsplit=1)[0][1:]}'" in error.value.message


@pytest.mark.parametrize(
    "message", ["/compacted", "//compact", "/ compact", "say /compact", "/Compact", "/help", "/clear", "/usr/bin"]
)
def test_any_other_slash_text_is_sent(message: str) -> None:
    ENGINE.check_message((1, 0, 102), message)
