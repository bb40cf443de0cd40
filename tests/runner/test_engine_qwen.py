"""qwen: what 0.5.2, 0.10.1 and 0.24.4 were seen to take. The session file's lines are those of 0.24.4 and 0.5.2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines.arguments import launch_args, rejected, widening
from git_agent_runner.engines.qwen.command import ENGINE, STDIN_LIMIT
from git_agent_runner.engines.qwen.flags import OPTIONS
from git_agent_runner.engines.spec import Launch, Located, StoreQuery, Version

NEW: Version = (0, 24, 4)
MIDDLE: Version = (0, 10, 1)
OLD: Version = (0, 5, 2)
UUID = "46f1320d-7d5a-43e6-ad12-472c559b373e"
OTHER = "f2b10211-9dc9-4332-8c04-b19320000000"
FORM = ("--output-format", "stream-json")


def launch(*args: str, message: str | None = "fix it", session: str | None = None, terminal: bool = False) -> Launch:
    return Launch("qwen", NEW, args, message, session, "/w", "/w", terminal)


@pytest.mark.parametrize(
    ("made", "argv"),
    [
        pytest.param(
            ENGINE.start(launch(session=UUID)), (*FORM, f"--session-id={UUID}", "--prompt=fix it"), id="start"
        ),
        pytest.param(ENGINE.start(launch()), (*FORM, "--prompt=fix it"), id="start of an older one"),
        pytest.param(ENGINE.resume(launch(session=UUID)), (*FORM, f"--resume={UUID}", "--prompt=fix it"), id="resume"),
        pytest.param(
            ENGINE.resume(launch("-y", "-mqwen3", "-c", "-r", OTHER, "-o", "json", "-p", "old", session=UUID)),
            ("-y", "-m", "qwen3", *FORM, f"--resume={UUID}", "--prompt=fix it"),
            id="resume with flags",
        ),
        pytest.param(
            ENGINE.start(launch(session=UUID, terminal=True)),
            (f"--session-id={UUID}", "--prompt-interactive=fix it"),
            id="start in a terminal",
        ),
        pytest.param(
            ENGINE.resume(launch(message=None, session=UUID, terminal=True)), (f"--resume={UUID}",), id="terminal"
        ),
    ],
)
def test_command_lines_of_qwen(made: object, argv: tuple[str, ...]) -> None:
    """`--session-id` and `--continue` are refused beside `--resume` (tried on 0.24.4)."""
    assert made == (("qwen", *argv), None, "/w", ())


@pytest.mark.parametrize(
    ("message", "word"),
    [
        pytest.param("- [ ] do", "--prompt=- [ ] do", id="dash"),
        pytest.param("--help", "--prompt=--help", id="flag"),
        pytest.param('"quoted"', '--prompt=""quoted""', id="quoted"),
        pytest.param("'it'", "--prompt=\"'it'\"", id="quoted otherwise"),
        pytest.param('"', '--prompt="', id="one quote"),
        pytest.param("\"a' b", "--prompt=\"a' b", id="quotes that are no pair"),
        pytest.param("line\r\nend\n\n", "--prompt=line\r\nend\n\n", id="line ends"),
    ],
)
def test_messages_to_qwen_are_joined_to_their_flag(message: str, word: str) -> None:
    """As they reached the model of 0.5.2 and 0.24.4: yargs takes one pair of quotes off a value."""
    made = ENGINE.start(launch(message=message))
    assert (made.argv[-1], made.stdin) == (word, None)


def test_a_large_message_to_qwen_goes_in_by_stdin() -> None:
    text = "é" * 60_000
    made = ENGINE.resume(launch(message=text, session=UUID))
    assert made.stdin == text.encode()
    assert made.argv == ("qwen", *FORM, f"--resume={UUID}")


@pytest.mark.parametrize("session", ["", "latest", "1", UUID.upper(), UUID[:8], f"{UUID}\n", "--yolo", None])
def test_resume_of_qwen_refuses_what_is_no_id(session: str | None) -> None:
    """An empty one opens a list and exits 0 (resume-empty), any other is looked up among titles."""
    with pytest.raises(UserError) as raised:
        ENGINE.resume(launch(session=session))
    assert raised.value.code == "session_malformed"


@pytest.mark.parametrize(
    ("version", "message", "code"),
    [
        pytest.param(NEW, "/clear", "message_refused", id="a command"),
        pytest.param(NEW, "/ model x", "message_refused", id="a command after a blank"),
        pytest.param(MIDDLE, "/quit", "message_refused", id="a command of 0.10.1"),
        pytest.param(OLD, "/clear", None, id="0.5.2 sends it"),
        pytest.param(NEW, " /clear", None, id="a blank in front"),
        pytest.param(NEW, "/frobnicate it", None, id="no command"),
        pytest.param(NEW, "/usr/bin/env is broken", None, id="a path"),
        pytest.param(NEW, "// a comment", None, id="a comment"),
        pytest.param(NEW, "x" * (STDIN_LIMIT + 1), "message_too_large", id="too large"),
    ],
)
def test_what_qwen_would_carry_out_or_cut_is_refused(version: Version, message: str, code: str | None) -> None:
    if code is None:
        ENGINE.check_message(version, message)
        return
    with pytest.raises(UserError) as raised:
        ENGINE.check_message(version, message)
    assert raised.value.code == code


def test_one_approval_mode_of_qwen() -> None:
    """ "Cannot use both --yolo (-y) and --approval-mode together" (tried on 0.5.2 and 0.24.4)."""
    made = ENGINE.start(launch("--yolo", "--approval-mode", "plan", "-d"))
    assert made.argv[1:4] == ("--approval-mode", "plan", "-d")


def test_a_new_session_forks_nothing() -> None:
    """The flag stays recorded for each resume; without --resume 0.24.4 refuses it."""
    assert "--fork-session" not in ENGINE.start(launch("--fork-session", "-d")).argv
    assert "--fork-session" in ENGINE.resume(launch("--fork-session", session=UUID)).argv


def test_a_worktree_of_qwens_own_is_refused() -> None:
    with pytest.raises(UserError) as raised:
        ENGINE.start(launch("--worktree=x"))
    assert raised.value.code == "flag_refused"


def test_the_picker_of_qwen_takes_no_message() -> None:
    assert ENGINE.picker is not None
    assert ENGINE.picker(launch("-d", message=None, terminal=True)).argv == ("qwen", "-d", "--resume")
    with pytest.raises(UserError):
        ENGINE.picker(launch(terminal=True))


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        pytest.param(OLD, "--session-id=x", id="0.5.2 has no session id"),
        pytest.param(MIDDLE, "--fork-session", id="0.10.1 has no fork"),
        pytest.param(OLD, "--add-dir=x", id="0.5.2 has no --add-dir"),
        pytest.param(NEW, "--tavily-api-key=x", id="0.24.4 has no search keys"),
        pytest.param(MIDDLE, "--all-files", id="0.10.1 does not take all files"),
    ],
)
def test_flags_of_other_versions_of_qwen(version: Version, flag: str) -> None:
    assert rejected(OPTIONS, (flag,), version) == (flag.partition("=")[0],)


def test_array_flags_of_qwen_keep_all_their_words() -> None:
    assert launch_args(OPTIONS, ("--allowed-tools", "a", "b", "-d", "left over")) == (
        "--allowed-tools=a",
        "--allowed-tools=b",
        "-d",
    )
    assert widening(OPTIONS, ("--exclude-tools", "a")) == ()


def test_ids_of_qwen_are_made_up_where_it_takes_them() -> None:
    minted = ENGINE.mint(NEW)
    assert minted is not None
    assert ENGINE.id_pattern.fullmatch(minted)
    assert ENGINE.mint(MIDDLE) is None
    assert ENGINE.forks(NEW, ("--fork-session",))
    assert not ENGINE.forks(NEW, ("--yolo",))
    assert not ENGINE.elsewhere(NEW, True)


def keep(home: Path, place: Path, session: str, *records: dict[str, object], folder: str = ".qwen") -> Path:
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(place.resolve()))
    path = home / folder / "projects" / slug / "chats" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def turn(place: Path, when: str = "2026-11-28T05:39:30.494Z") -> dict[str, object]:
    """The first line of a file, as 0.24.4 writes it; 0.5.2 leaves `provenance` out."""
    return {
        "uuid": "62725557-0f43-42f7-8dc1-8ee291bde9ca",
        "parentUuid": None,
        "sessionId": UUID,
        "timestamp": when,
        "type": "user",
        "provenance": "real_user",
        "cwd": str(place.resolve()),
        "version": "0.24.4",
        "gitBranch": "feature/retry",
        "message": {"role": "user", "parts": [{"text": "MK1 add"}]},
    }


def query(home: Path, place: Path, session: str = UUID) -> StoreQuery:
    return StoreQuery({"HOME": str(home)}, str(place), NEW, session)


def test_locate_a_session_of_qwen(tmp_path: Path) -> None:
    place = tmp_path / "a_site é"
    place.mkdir()
    path = keep(tmp_path, place, UUID, turn(place))
    assert ENGINE.locate(query(tmp_path, place)) == Located("present", str(path), str(place.resolve()))


@pytest.mark.parametrize("variable", ["QWEN_HOME", "QWEN_RUNTIME_DIR"])
def test_variables_move_the_sessions_of_newer_qwen(tmp_path: Path, variable: str) -> None:
    keep(tmp_path, tmp_path, UUID, turn(tmp_path), folder="moved")
    asked = query(tmp_path, tmp_path)._replace(env={"HOME": str(tmp_path), variable: str(tmp_path / "moved")})
    assert ENGINE.locate(asked).state == "present"
    assert ENGINE.locate(asked._replace(version=MIDDLE)).state == "absent"


def test_locate_in_vain_of_qwen(tmp_path: Path) -> None:
    """No such file, another directory, one without a turn, one that was archived."""
    other = tmp_path / "other"
    other.mkdir()
    path = keep(tmp_path, tmp_path, UUID, turn(tmp_path))
    assert ENGINE.locate(query(tmp_path, tmp_path, OTHER)).state == "absent"
    assert ENGINE.locate(query(tmp_path, other)).state == "absent"
    keep(tmp_path, tmp_path, OTHER, {"type": "system", "subtype": "ui_telemetry"})
    assert "no turn" in ENGINE.locate(query(tmp_path, tmp_path, OTHER)).detail
    (path.parent / "archive").mkdir()
    path.rename(path.parent / "archive" / path.name)
    assert "archived" in ENGINE.locate(query(tmp_path, tmp_path)).detail


def test_sessions_that_qwens_settings_move_are_left_to_qwen(tmp_path: Path) -> None:
    settings = tmp_path / ".qwen" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"advanced": {"runtimeOutputDir": "~/elsewhere"}}')
    assert ENGINE.locate(query(tmp_path, tmp_path)).state == "unknown"


def test_sessions_that_qwen_made_here(tmp_path: Path) -> None:
    """Since then, in this directory, oldest first."""
    twin = tmp_path / "a-b"
    twin.mkdir()
    place = tmp_path / "a b"
    place.mkdir()
    keep(tmp_path, place, UUID, turn(place, "2026-11-28T05:39:31.000Z"))
    keep(tmp_path, place, OTHER, turn(place, "2026-11-28T05:39:30.494Z"))
    keep(tmp_path, place, "0199c9a8-0000-7000-8000-00000000beef", turn(twin))
    begun = 1795844370.4941  # 2026-11-28T05:39:30.494Z, and a little
    assert ENGINE.created_since(query(tmp_path, place)._replace(since=begun)) == (OTHER, UUID)
    assert ENGINE.created_since(query(tmp_path, place)._replace(since=begun + 0.4)) == (UUID,)
    assert ENGINE.created_since(query(tmp_path, tmp_path / "none")) == ()


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("mail a@b.c", "a@b.c"),
        ("clone git@github.com:x/y", "git@github.com:x/y"),
        ('say "a@b.c"', '"a@b.c"'),
        ("a@", "a@"),
        ("hello\n@nosuch there", "@nosuch"),
        ("hello @readme", None),
        ("@nosuch", None),
        ("@@x", None),
        ("@ x", None),
        (r"x\@b.c", None),
        (None, None),
    ],
)
def test_a_message_that_qwen_alters_is_announced(message: str | None, word: str | None) -> None:
    """Each was sent to 0.5.2 and 0.24.4, and what the model got was compared. Faults G8."""
    note = ENGINE.message_note(launch(message=message))
    assert note is None if word is None else f"the @ of '{word}'" in (note or "")
