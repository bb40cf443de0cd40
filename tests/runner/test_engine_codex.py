"""codex: argv at several versions, messages, and the rollout files that real codex wrote (`stores/codex`)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import launch_args, overlay, rejected, widening
from git_agent_runner.engines.codex.command import ENGINE
from git_agent_runner.engines.codex.flags import OPTIONS
from git_agent_runner.engines.spec import Launch, Located, StoreQuery, Version, parse_version

STORES = Path(__file__).parent / "stores" / "codex"
RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings/codex"
SITE = "/home/ada/site"  # where the sessions in the stores were made
ID = "01a21f8d-bd0c-7281-a3ce-f694ef8f2188"  # 0.171.0, made at 00:28:32.399
OLD_ID = "fc1d600a-2e81-49fe-b1dc-2d64b3cb0bd4"  # 0.36.0
OLDEST_ID = "10350abd-3d6a-4154-a5b8-59ca5164f31d"  # 0.29.0
MADE = 1795825712.399
NEW: Version = (0, 171, 0)


def launch(
    *args: str,
    version: Version = NEW,
    message: str | None = "fix it",
    session: str | None = None,
    terminal: bool = False,
) -> Launch:
    return Launch("codex", version, args, message, session, SITE, SITE, terminal)


def refuses(version: Version, message: str) -> bool:
    try:
        ENGINE.check_message(version, message)
    except UserError:
        return True
    return False


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        pytest.param(launch(), ("codex", "exec", "--json", "-"), id="start"),
        pytest.param(
            launch("-mgpt-5", "--json", "-C", "/w", "-s", "read-only"),
            ("codex", "exec", "-m", "gpt-5", "-s", "read-only", "--json", "-"),
            id="flags, case A04",
        ),
        pytest.param(
            launch(session=ID, version=(0, 44)),
            ("codex", "exec", "--json", "resume", ID, "-"),
            id="resume 0.44, case A01",
        ),
        pytest.param(
            launch("--skip-git-repo-check", "--last", "-c", 'sandbox_mode="workspace-write"', session=ID),
            (
                "codex",
                "exec",
                "--skip-git-repo-check",
                "-c",
                'sandbox_mode="workspace-write"',
                "--json",
                "resume",
                ID,
                "-",
            ),
            id="pitfalls 1, 10 and 19: every flag again, before resume",
        ),
        pytest.param(
            launch("-i", "a.png", "b.png", session=ID),
            ("codex", "exec", "--image=a.png", "--image=b.png", "--json", "resume", ID, "-"),
            id="pitfall 11: an image that cannot swallow resume",
        ),
        pytest.param(
            launch("exec", "resume", OLD_ID, "old message", "-m", "x", session=ID),
            ("codex", "exec", "-m", "x", "--json", "resume", ID, "-"),
            id="an old resume command line",
        ),
    ],
)
def test_headless_argv(given: Launch, argv: tuple[str, ...]) -> None:
    compiled = ENGINE.resume(given) if given.session else ENGINE.start(given)
    assert compiled == Invocation(argv, b"fix it", SITE)


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        pytest.param(
            launch("-a", "never", message="--help", terminal=True),
            ("codex", "--no-daemon", "-a", "never", "--", "--help"),
            id="start, pitfall 12: a prompt that looks like a flag",
        ),
        pytest.param(
            launch("--no-daemon", message=None, session=ID, terminal=True),
            ("codex", "resume", "--no-daemon", ID),
            id="resume without a message",
        ),
        pytest.param(
            launch("-i", "a.png", message="resume", session=ID, terminal=True, version=(0, 128)),
            ("codex", "resume", "--image=a.png", ID, "--", "resume"),
            id="pitfall 26: a prompt that is a subcommand; 0.128 has no daemon",
        ),
    ],
)
def test_terminal_argv(given: Launch, argv: tuple[str, ...]) -> None:
    compiled = ENGINE.resume(given) if given.session else ENGINE.start(given)
    assert compiled == Invocation(argv, None, SITE)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        pytest.param(launch("--search", "-a", "never"), "codex exec does not take --search, -a", id="headless"),
        pytest.param(launch("-o", "f", terminal=True), "terminal form of codex does not take -o", id="terminal"),
    ],
)
def test_a_flag_of_the_other_form_is_refused(given: Launch, named: str) -> None:
    with pytest.raises(UserError, match=named) as error:
        ENGINE.start(given)
    assert error.value.code == "flag_rejected"


@pytest.mark.parametrize(
    "session",
    [
        None,
        "",
        "latest",
        "01A21F8D-BD0C-7281-A3CE-F694EF8F2188",
        f"{ID}\n",
        ID[:-1],
        "--last",
        f"/x/rollout-{ID}.jsonl",
    ],
)
def test_pitfalls_3_and_30_a_malformed_session_is_never_compiled(session: str | None) -> None:
    with pytest.raises(UserError) as error:
        ENGINE.resume(launch(session=session))
    assert error.value.code == "session_malformed"


@pytest.mark.parametrize(
    "message",
    [
        "- [ ] do the thing",
        "---\ntitle: x\n---\nbody",
        "--help",
        "-",
        "@file.txt",
        "/clear",
        " a \r\n\n",
        "resume",
        "x" * 200_000,
    ],
)
def test_pitfalls_12_13_and_26_any_message_is_stdin_as_it_stands(message: str) -> None:
    ENGINE.check_message(NEW, message)
    assert ENGINE.start(launch(message=message)).stdin == message.encode()
    resume = ENGINE.resume(launch(message=message, session=ID))
    assert resume == Invocation(("codex", "exec", "--json", "resume", ID, "-"), message.encode(), SITE)


@pytest.mark.parametrize(
    ("version", "message", "code"),
    [
        pytest.param((0, 128, 0), "é" * 1_048_577, "message_too_large", id="more characters than codex takes"),
        pytest.param((0, 98, 0), "\ufeffhello", "message_refused", id="byte order mark, dropped"),
    ],
)
def test_a_message_that_this_version_would_not_send_is_refused(version: Version, message: str, code: str) -> None:
    with pytest.raises(UserError) as error:
        ENGINE.check_message(version, message)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param((0, 171, 0), "é" * 1_048_576, id="as many characters as codex takes"),
        pytest.param((0, 98, 0), "x" * 1_048_577, id="0.98 has no limit"),
        pytest.param((0, 65, 0), "\ufeffhello", id="0.65 keeps the mark"),
    ],
)
def test_a_message_that_this_version_sends_is_not_refused(version: Version, message: str) -> None:
    assert not refuses(version, message)


def test_continue_keeps_to_the_directory() -> None:
    given = launch("-m", "x", session=ID)
    assert ENGINE.continue_ is not None
    assert ENGINE.continue_(given).argv == ("codex", "exec", "-m", "x", "--json", "resume", "--last", "-")
    with pytest.raises(UserError, match="newest session of any directory"):
        ENGINE.continue_(given._replace(version=(0, 87, 0)))


def test_the_picker_opens_without_a_message() -> None:
    assert ENGINE.picker is not None
    assert ENGINE.picker(launch(message=None, terminal=True)).argv == ("codex", "resume", "--no-daemon")
    with pytest.raises(UserError, match="takes no message"):
        ENGINE.picker(launch(terminal=True))


@pytest.mark.parametrize(
    ("flag", "version", "there"),
    [
        ("--full-auto", (0, 128), True),
        ("--full-auto", (0, 150), False),
        ("--ephemeral", (0, 98), False),
        ("--ephemeral", (0, 117), True),
        ("--add-dir=x", (0, 53), False),
        ("-o=x", (0, 44), False),
        ("--output-last-message=x", (0, 44), True),
        ("--add-dir=x", (0, 65), True),
        ("--enable=x", (0, 44), False),
        ("--include-plan-tool", (0, 47), True),
        ("--include-plan-tool", (0, 53), False),
    ],
)
def test_flags_by_version(flag: str, version: Version, there: bool) -> None:
    assert bool(rejected(OPTIONS, (flag,), version)) is not there


@pytest.mark.parametrize(
    ("flags", "version", "terminal", "there"),
    [
        (("--remote", "ws://x"), (0, 128, 0), False, False),
        (("--remote", "ws://x"), (0, 128, 0), True, True),
        (("--remote", "ws://x"), (0, 171, 0), False, True),
        (("--full-auto",), (0, 128, 0), False, True),
        (("--full-auto",), (0, 128, 0), True, False),
        (("--full-auto",), (0, 117, 0), True, True),
    ],
)
def test_forms_differ_by_version(flags: tuple[str, ...], version: Version, terminal: bool, there: bool) -> None:
    """The help of `codex`, of `codex exec` and of `codex resume` at these versions."""
    asked = launch(*flags, session=ID, version=version, terminal=terminal)
    if there:
        assert flags[0] in ENGINE.resume(asked).argv
        return
    with pytest.raises(UserError, match=f"does not take {flags[0]}$"):
        ENGINE.resume(asked)


def test_flags_that_widen_are_named() -> None:
    given = ("-m", "x", "-cmcp_servers.x.command=sh", "--yolo", "-sread-only", "--oss", "--add-dir", "/")
    assert widening(OPTIONS, given) == ("-c", "--yolo", "-s", "--add-dir")


def test_a_flag_given_anew_replaces_the_recorded_one() -> None:
    recorded = launch_args(OPTIONS, ("-m", "a", "--sandbox=read-only", "-c", "a=1"))
    assert overlay(OPTIONS, recorded, ("-s", "workspace-write", "-c", "b=2")) == (
        *("-m", "a", "-c", "a=1", "-s", "workspace-write", "-c", "b=2"),
    )


def test_pitfall_21_old_versions_tell_the_model_the_old_directory() -> None:
    assert ENGINE.elsewhere((0, 44), False)
    assert "first directory" in (ENGINE.elsewhere_note((0, 65, 0)) or "")
    assert ENGINE.elsewhere_note((0, 98, 0)) is None


@pytest.fixture
def query(tmp_path: Path) -> StoreQuery:
    return stored(tmp_path / "codex", "0.171.0", ID)


def stored(home: Path, version: str, session: str) -> StoreQuery:
    shutil.copytree(STORES / version, home)
    for path in home.rglob("*.jsonl"):
        os.utime(path, (MADE + 60, MADE + 60))
    return StoreQuery({"CODEX_HOME": str(home)}, SITE, parse_version(version) or (), session)


def only_file(query: StoreQuery) -> Path:
    (path,) = Path(query.env["CODEX_HOME"]).rglob("rollout-*.jsonl")
    return path


@pytest.mark.parametrize(("version", "session"), [("0.36.0", OLD_ID), ("0.171.0", ID)])
def test_a_session_is_found_from_any_directory(version: str, session: str, tmp_path: Path) -> None:
    query = stored(tmp_path / "codex", version, session)._replace(cwd="/elsewhere")
    assert ENGINE.locate(query) == Located("present", str(only_file(query)), SITE)


def test_the_home_directory_is_the_default_place(tmp_path: Path) -> None:
    query = stored(tmp_path / ".codex", "0.171.0", ID)
    assert ENGINE.locate(query._replace(env={"HOME": str(tmp_path)})).state == "present"


def test_pitfall_24_another_codex_home_has_no_such_session(query: StoreQuery, tmp_path: Path) -> None:
    assert ENGINE.locate(query._replace(env={"CODEX_HOME": str(tmp_path / "other")})).state == "absent"
    assert ENGINE.locate(query._replace(session=OLD_ID)).state == "absent"


def test_an_emptied_file_is_no_session(query: StoreQuery) -> None:
    only_file(query).write_bytes(b"")
    found = ENGINE.locate(query)
    assert (found.state, "empty" in found.detail) == ("absent", True)


def test_what_0_29_wrote_cannot_be_resumed(tmp_path: Path) -> None:
    found = ENGINE.locate(stored(tmp_path / "codex", "0.29.0", OLDEST_ID))
    assert (found.state, "older" in found.detail) == ("absent", True)


@pytest.mark.parametrize(
    ("version", "before"),
    [("0.44.0", 2), ("0.65.0", 2), ("0.98.0", 4), ("0.116.0", 5), ("0.128.0", 5), ("0.171.0", 4)],
)
def test_a_file_without_a_turn_is_no_session(query: StoreQuery, version: str, before: int) -> None:
    """Cut where a kill cuts it: codex would go on without the prompt. `before` lines stand before that, as recorded."""
    recorded = (RECORDINGS / version / "start-json/session-head").read_bytes().splitlines(keepends=True)
    only_file(query).write_bytes(b"".join(recorded[:before]))
    found = ENGINE.locate(query)
    assert (found.state, "no turn" in found.detail) == ("absent", True)
    turn = b'{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"fix it"}]}}\n'
    with only_file(query).open("ab") as stream:
        stream.write(recorded[before] if before < len(recorded) else turn)
    assert ENGINE.locate(query).state == "present"


def test_a_torn_last_line_does_not_matter(query: StoreQuery) -> None:
    with only_file(query).open("ab") as stream:
        stream.write(b'{"timestamp":"2026-11-28T00:')
    assert ENGINE.locate(query).state == "present"


def test_an_archived_session_is_named_as_such(query: StoreQuery) -> None:
    archive = Path(query.env["CODEX_HOME"]) / "archived_sessions"
    archive.mkdir()
    only_file(query).rename(archive / only_file(query).name)
    found = ENGINE.locate(query)
    assert (found.state, f"codex unarchive {ID}" in found.detail) == ("absent", True)


def test_sessions_that_cannot_be_listed_are_unknown(query: StoreQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    # Not by a mode: the tests may run as root, who reads everything.
    monkeypatch.setattr(os, "listdir", refuse)
    assert ENGINE.locate(query).state == "unknown"
    assert ENGINE.created_since(query) == ()


def test_a_pipe_in_the_store_does_not_hang(query: StoreQuery) -> None:
    path = only_file(query)
    path.unlink()
    os.mkfifo(path)
    assert ENGINE.locate(query).state == "unknown"


@pytest.mark.parametrize(
    ("cwd", "since", "found"),
    [
        pytest.param(SITE, MADE - 1, (ID,), id="made since"),
        pytest.param(SITE, MADE + 0.0004, (ID,), id="made in this very millisecond"),
        pytest.param(SITE, MADE + 1, (), id="made before, written since"),
        pytest.param("/home/ada", MADE - 1, (), id="another directory"),
    ],
)
def test_sessions_made_since(cwd: str, since: float, found: tuple[str, ...], query: StoreQuery) -> None:
    assert ENGINE.created_since(query._replace(cwd=cwd, since=since)) == found


def test_sessions_of_sub_agents_and_broken_files_are_left_out(query: StoreQuery) -> None:
    path = only_file(query)
    head, _, rest = path.read_text().partition("\n")
    child = ID.replace("2188", "2189")
    spawned = '"source":{"subagent":{"thread_spawn":{"parent_thread_id":"' + ID + '"}}}'
    path.with_name(path.name.replace(ID, child)).write_text(
        head.replace(ID, child).replace('"source":"exec"', spawned) + "\n" + rest
    )
    path.with_name(path.name.replace(ID, ID.replace("2188", "2190"))).symlink_to("nowhere")
    assert spawned in path.with_name(path.name.replace(ID, child)).read_text()
    assert ENGINE.created_since(query) == (ID,)


@pytest.mark.parametrize(
    ("version", "args", "says"),
    [
        pytest.param((0, 128, 0), ("-s", "workspace-write"), True, id="pitfall 20: 0.128 writes trust down"),
        pytest.param((0, 128, 0), (), False, id="nothing was allowed"),
        pytest.param((0, 171, 0), ("-s", "workspace-write"), False, id="0.171 no longer does"),
    ],
)
def test_trust_that_codex_writes_down_is_said(version: tuple[int, ...], args: tuple[str, ...], says: bool) -> None:
    assert bool(ENGINE.launch_note(version, args)) is says
