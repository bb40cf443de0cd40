"""claude: argv at several versions, messages, and the session files that real claude wrote (`stores/claude`)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from uuid import UUID

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import launch_args, rejected, widening
from git_agent_runner.engines.claude.command import ENGINE
from git_agent_runner.engines.claude.flags import OPTIONS
from git_agent_runner.engines.spec import Launch, Located, StoreQuery, Version, parse_version

STORES = Path(__file__).parent / "stores" / "claude"
SITE = "/home/ada/site"  # where the sessions in the stores were made
ID = "dcb158a6-cd6a-46e6-8da2-716ca1f93c0f"  # 2.1.332, made at 00:24:52.310
OLD_ID = "00db5279-e47d-4d5f-be03-fb1538ccebfb"  # 2.0.42, made at 00:24:56.586
OLDEST_ID = "cae6068c-8494-4085-892f-6036b6ea8dc7"  # 1.0.128, made at 00:25:08.050
MADE = {ID: 1795825492.310, OLD_ID: 1795825496.586, OLDEST_ID: 1795825508.050}
NEW: Version = (2, 1, 332)
HEADLESS = ("claude", "-p", "--output-format", "stream-json", "--verbose")


def launch(
    *args: str,
    version: Version = NEW,
    message: str | None = "fix it",
    session: str | None = None,
    terminal: bool = False,
) -> Launch:
    return Launch("claude", version, args, message, session, SITE, SITE, terminal)


def refuses(version: Version, message: str) -> bool:
    try:
        ENGINE.check_message(version, message)
    except UserError:
        return True
    return False


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        pytest.param((), (), id="no flags"),
        pytest.param(
            ("--model", "opus", "--permission-mode", "acceptEdits"),
            ("--model", "opus", "--permission-mode", "acceptEdits"),
            id="pitfalls 1 and 2: permissions and model are passed again",
        ),
        pytest.param(
            ("--allowedTools", "Bash", "Edit", "--add-dir", "/a"),
            ("--allowedTools=Bash", "--allowedTools=Edit", "--add-dir=/a"),
            id="pitfall 11: variadic flags that eat nothing",
        ),
        pytest.param(
            ("--session-id", ID, "--resume", OLD_ID, "-c", "-p", "--output-format=json", "--verbose", "old message"),
            (),
            id="pitfall 23: no selector beside ours",
        ),
        pytest.param(
            ("--append-system-prompt", "- be brief"),
            ("--append-system-prompt=- be brief",),
            id="pitfall 17: system prompt again, though it looks like a flag",
        ),
        pytest.param(("--debug", "hooks", "-d2e"), ("--debug=hooks", "-d2e"), id="optional value"),
    ],
)
def test_headless_argv(given: tuple[str, ...], flags: tuple[str, ...]) -> None:
    start = ENGINE.start(launch(*given, session=ID))
    assert start == Invocation((*HEADLESS, "--session-id", ID, *flags), b"fix it", SITE)
    resume = ENGINE.resume(launch(*given, session=OLD_ID))
    assert resume == Invocation((*HEADLESS, "--resume", OLD_ID, *flags), b"fix it", SITE)


@pytest.mark.parametrize(
    ("given", "resume", "argv"),
    [
        pytest.param(
            launch("--allowedTools", "Bash", message="--fix", session=ID, terminal=True),
            False,
            ("claude", "--session-id", ID, "--allowedTools=Bash", "--", "--fix"),
            id="start, pitfall 12: a prompt that looks like a flag",
        ),
        pytest.param(
            launch(message=None, session=ID, terminal=True), True, ("claude", "--resume", ID), id="resume, no message"
        ),
        pytest.param(
            launch("--debug", message="go on", session=ID, terminal=True),
            True,
            ("claude", "--resume", ID, "--debug", "--", "go on"),
            id="resume, an optional value cannot eat the message",
        ),
    ],
)
def test_terminal_argv(given: Launch, resume: bool, argv: tuple[str, ...]) -> None:
    assert (ENGINE.resume if resume else ENGINE.start)(given) == Invocation(argv, None, SITE)


def test_continue_and_picker() -> None:
    assert ENGINE.continue_ is not None
    assert ENGINE.continue_(launch("--model", "x", session=ID)).argv == (*HEADLESS, "--continue", "--model", "x")
    assert ENGINE.picker is not None
    assert ENGINE.picker(launch(message=None, terminal=True)).argv == ("claude", "--resume")
    with pytest.raises(UserError, match="takes no message"):
        ENGINE.picker(launch(terminal=True))


@pytest.mark.parametrize(
    "session", [None, "", ID.upper(), f"{ID}\n", ID[:-1], "my session", "--continue", f"/x/{ID}.jsonl", "from"]
)
def test_pitfall_30_a_malformed_session_is_never_compiled(session: str | None) -> None:
    with pytest.raises(UserError) as error:
        ENGINE.resume(launch(session=session))
    assert error.value.code == "session_malformed"


@pytest.mark.parametrize(
    "message",
    [
        *("- [ ] do the thing", "---\ntitle: x\n---\nbody", "--help", "-", "@file.txt", "!ls", "#x", " a \r\n\n"),
        *(
            "/foo bar",
            "/usr/bin/env is broken",
            "//x",
            "/ x",
            "/",
            " /clear",
            "\n/clear",
            "/clear.",
            "/Clear",
            "/review",
        ),
        "x" * 200_000,
    ],
)
def test_pitfalls_12_13_and_25_what_2_1_332_sends_is_stdin_as_it_stands(message: str) -> None:
    ENGINE.check_message(NEW, message)
    assert ENGINE.start(launch(message=message)).stdin == message.encode()
    assert ENGINE.resume(launch(message=message, session=ID)).argv == (*HEADLESS, "--resume", ID)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param(NEW, "/clear", id="built in"),
        pytest.param(NEW, "/compact the rest", id="built in, with words"),
        pytest.param(NEW, "/help\nme", id="built in, before a line end"),
        pytest.param(NEW, "/reload-skills", id="built in, with a dash"),
        pytest.param((2, 1, 200), "/foo bar", id="2.1.200 sends no unknown command"),
        pytest.param((2, 0, 42), "/foo", id="2.0.42 sends no unknown command"),
        pytest.param((1, 0, 128), "/", id="1.0.128 takes the bare slash"),
    ],
)
def test_pitfall_25_slash_text_that_is_swallowed_is_refused(version: Version, message: str) -> None:
    with pytest.raises(UserError, match="command of its own") as error:
        ENGINE.check_message(version, message)
    assert error.value.code == "message_refused"


@pytest.mark.parametrize("message", ["/usr/bin/env is broken", "//x", " /clear", "/foo.bar", "/foo, bar"])
def test_slash_text_that_every_version_sends_is_not_refused(message: str) -> None:
    assert not refuses((1, 0, 128), message)


def test_more_than_claude_reads_is_refused() -> None:
    limit = 10 * 1024 * 1024
    ENGINE.check_message(NEW, "x" * limit)
    with pytest.raises(UserError, match=f"has {limit + 1} bytes"):
        ENGINE.check_message(NEW, "é" * (limit // 2) + "x")
    ENGINE.check_message((2, 1, 76), "x" * (limit + 1))


def test_an_id_is_minted_where_start_takes_one() -> None:
    assert ENGINE.mint((1, 0, 59)) is None
    minted = ENGINE.mint((1, 0, 60)) or ""
    assert ENGINE.id_pattern.fullmatch(minted)
    assert UUID(minted).version == 4
    assert ENGINE.mint(NEW) != minted


@pytest.mark.parametrize(
    ("version", "args", "forks"),
    [
        pytest.param((1, 0, 123), (), True, id="pitfall 6: every resume forks"),
        pytest.param((1, 0, 124), (), False, id="keeps the id"),
        pytest.param(NEW, ("--fork-session",), True, id="the person asked"),
        pytest.param(NEW, ("--append-system-prompt", "--fork-session"), False, id="a value, no flag"),
    ],
)
def test_forks(version: Version, args: tuple[str, ...], forks: bool) -> None:
    assert ENGINE.forks(version, args) is forks


def test_a_fork_that_was_asked_for_is_passed() -> None:
    assert ENGINE.resume(launch("--fork-session", session=ID)).argv == (*HEADLESS, "--resume", ID, "--fork-session")


@pytest.mark.parametrize(
    ("version", "same_repository", "elsewhere"),
    [
        ((2, 1, 165), True, False),
        ((2, 1, 166), True, True),
        ((2, 1, 222), False, False),
        ((2, 1, 223), False, True),
    ],
)
def test_pitfall_5_resume_and_the_directory(version: Version, same_repository: bool, elsewhere: bool) -> None:
    assert ENGINE.elsewhere(version, same_repository) is elsewhere
    assert (ENGINE.elsewhere_note(version) is not None) is (version >= (2, 1, 166))


def test_pitfall_16_a_session_killed_in_its_first_reply() -> None:
    assert "first reply" in (ENGINE.first_reply_lost((2, 1, 72)) or "")
    assert ENGINE.first_reply_lost((2, 1, 73)) is None


@pytest.mark.parametrize(
    ("flag", "version", "there"),
    [
        ("--fork-session", (1, 0, 111), False),
        ("--fork-session", (1, 0, 120), True),
        ("--tools=Bash", (1, 0, 128), False),
        ("--tools=Bash", (2, 0, 42), True),
        ("--name=x", (2, 0, 42), False),
        ("--bare", (2, 1, 76), False),
        ("--restricted", (2, 1, 200), False),
        ("--restricted", (2, 1, 332), True),
        ("--mcp-debug", (2, 1, 76), True),
        ("--mcp-debug", (2, 1, 200), False),
        ("--max-turns=1", (1, 0, 24), True),
    ],
)
def test_flags_by_version(flag: str, version: Version, there: bool) -> None:
    assert bool(rejected(OPTIONS, (flag,), version)) is not there


def test_flags_that_widen_are_named() -> None:
    given = (
        "--model",
        "x",
        "--allowedTools",
        "Bash",
        "--mcp-config=x",
        "--settings",
        "{}",
        "--disallowedTools",
        "Bash",
    )
    assert widening(OPTIONS, given) == ("--allowedTools", "--mcp-config", "--settings")


def test_flags_that_take_the_work_elsewhere_are_not_recorded() -> None:
    assert launch_args(OPTIONS, ("--worktree", "x", "--bg", "--model", "opus")) == ("--model", "opus")


@pytest.fixture
def query(tmp_path: Path) -> StoreQuery:
    return stored(tmp_path / "claude", "2.1.332", ID)


def stored(home: Path, version: str, session: str) -> StoreQuery:
    shutil.copytree(STORES / version, home)
    for path in home.rglob("*.jsonl"):
        os.utime(path, (MADE[session] + 60, MADE[session] + 60))
    return StoreQuery({"CLAUDE_CONFIG_DIR": str(home)}, SITE, parse_version(version) or (), session)


def file_of(query: StoreQuery) -> Path:
    return Path(query.env["CLAUDE_CONFIG_DIR"], "projects", "-home-ada-site", f"{query.session}.jsonl")


@pytest.mark.parametrize(("version", "session"), [("1.0.128", OLDEST_ID), ("2.0.42", OLD_ID), ("2.1.332", ID)])
def test_a_session_is_found_in_its_directory(version: str, session: str, tmp_path: Path) -> None:
    query = stored(tmp_path / "claude", version, session)
    assert ENGINE.locate(query) == Located("present", str(file_of(query)), SITE)


def test_the_home_directory_is_the_default_place(tmp_path: Path) -> None:
    query = stored(tmp_path / ".claude", "2.1.332", ID)
    assert ENGINE.locate(query._replace(env={"HOME": str(tmp_path)})).state == "present"


@pytest.mark.parametrize(
    ("version", "state"), [((2, 1, 165), "absent"), ((2, 1, 166), "present"), ((2, 1, 223), "present")]
)
def test_pitfall_5_a_session_of_another_directory(version: Version, state: str, query: StoreQuery) -> None:
    found = ENGINE.locate(query._replace(cwd="/home/ada", version=version))
    assert (found.state, found.cwd) == (state, SITE)
    assert (SITE in found.detail) is (state == "absent")


def test_pitfall_24_another_configuration_has_no_such_session(query: StoreQuery, tmp_path: Path) -> None:
    assert ENGINE.locate(query._replace(env={"CLAUDE_CONFIG_DIR": str(tmp_path / "other")})).state == "absent"
    assert ENGINE.locate(query._replace(session=OLD_ID)).state == "absent"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="emptied"),
        pytest.param(b'{"type":"queue-operation","timestamp":"2026-11-28T00:24:52.310Z"}\n', id="killed before a turn"),
        pytest.param(b'{"type":"us', id="torn in its only line"),
        pytest.param(b'[]\n"user"\n' + b"[" * 100_000 + b"\n", id="lines of another shape"),
    ],
)
def test_a_file_without_a_turn_is_no_session(content: bytes, query: StoreQuery) -> None:
    file_of(query).write_bytes(content)
    found = ENGINE.locate(query)
    assert (found.state, found.path, "no turn" in found.detail) == ("absent", str(file_of(query)), True)


def test_a_first_message_larger_than_the_head_counts(query: StoreQuery) -> None:
    file_of(query).write_bytes(b'{"type":"user","message":"' + b"x" * 5_000_000 + b'"}\n')
    assert ENGINE.locate(query).state == "present"


def test_projects_that_cannot_be_listed_are_unknown(query: StoreQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    # Not by a mode: the tests may run as root, who reads everything.
    monkeypatch.setattr(os, "listdir", refuse)
    assert ENGINE.locate(query).state == "unknown"
    assert ENGINE.created_since(query) == ()


# As claude names its folders (21a-cwd-odd, 21d-cwd-long).
@pytest.mark.parametrize(
    ("directory", "folder"),
    [
        pytest.param("/nowhere/a b.c_d/é-日本", "-nowhere-a-b-c-d-----", id="other letters"),
        pytest.param("/nowhere/e\u0301x\U0001f600", "-nowhere-e-x--", id="two UTF-16 units, decomposed"),
        pytest.param("/nowhere/" + "d" * 300, "-nowhere-" + "d" * 191 + "-1k2m3p", id="long, cut and hashed"),
    ],
)
def test_the_folder_of_a_directory(directory: str, folder: str, query: StoreQuery) -> None:
    file_of(query).parent.rename(file_of(query).parent.with_name(folder))
    found = ENGINE.locate(query._replace(cwd=directory, version=(2, 1, 0)))
    assert (found.state, Path(found.path or "").parent.name) == ("present", folder)


def test_a_symbolic_link_to_the_directory_is_the_directory(query: StoreQuery, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(SITE)
    assert ENGINE.locate(query._replace(cwd=str(tmp_path / "link"), version=(1, 0, 128))).state == "present"
    assert ENGINE.created_since(query._replace(cwd=str(tmp_path / "link"))) == (ID,)


@pytest.mark.parametrize(("version", "session"), [("1.0.128", OLDEST_ID), ("2.0.42", OLD_ID), ("2.1.332", ID)])
def test_sessions_made_since_without_side_files(version: str, session: str, tmp_path: Path) -> None:
    query = stored(tmp_path / "claude", version, session)
    assert ENGINE.created_since(query) == (session,)
    assert ENGINE.created_since(query._replace(since=MADE[session] - 1)) == (session,)
    assert ENGINE.created_since(query._replace(since=MADE[session] + 0.0004)) == (session,)
    assert ENGINE.created_since(query._replace(since=MADE[session] + 1)) == ()
    assert ENGINE.created_since(query._replace(cwd="/home/ada")) == ()


def test_sessions_of_a_directory_that_shares_the_folder_are_left_out(query: StoreQuery) -> None:
    assert ENGINE.created_since(query._replace(cwd="/home/ada-site")) == ()


def test_sessions_made_since_are_in_order(query: StoreQuery) -> None:
    early = file_of(query).with_name(f"{OLD_ID}.jsonl")
    early.write_text(file_of(query).read_text().replace("T00:24:52", "T00:24:51"))
    file_of(query).with_name(f"{OLDEST_ID}.jsonl").symlink_to("nowhere")
    assert ENGINE.created_since(query) == (OLD_ID, ID)
