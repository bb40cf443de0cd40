"""opencode: argv at several versions, messages, and the stores that real opencode wrote (`stores/opencode`)."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import directory, launch_args, rejected, widening
from git_agent_runner.engines.opencode.command import ENGINE, OPTIONS
from git_agent_runner.engines.refuse import check_version
from git_agent_runner.engines.spec import Launch, Located, StoreQuery, Version

STORES = Path(__file__).parent / "stores" / "opencode"
SITE = "/home/ada/site"  # where the sessions in the stores were made
TREE = "/home/ada/tree"
FIRST = "ses_de07a359fffedvuZMHknY0t4vC"  # 1.18.33, created 1795825191520
SECOND = "ses_de07a19dcffeuLtTlkkirIAd09"  # 1.18.33, created 1795825198627
BEFORE = "ses_de07a444cffeYhwfBgvJmHttwe"  # 1.1.34
NEW: Version = (1, 18, 33)
RUN = ("opencode", "run", "--format", "json")


def launch(
    *args: str,
    version: Version = NEW,
    message: str | None = "fix it",
    session: str | None = None,
    cwd: str = SITE,
    terminal: bool = False,
) -> Launch:
    return Launch("opencode", version, args, message, session, cwd, SITE, terminal)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / ".local" / "share" / "opencode"


@pytest.fixture
def query(tmp_path: Path, data: Path) -> StoreQuery:
    """A home with the database of 1.18.33 and two sessions."""
    data.mkdir(parents=True)
    with closing(sqlite3.connect(data / "opencode.db")) as database:
        database.executescript((STORES / "1.18.33" / "opencode.sql").read_text())
    return StoreQuery({"HOME": str(tmp_path)}, SITE, NEW)


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        pytest.param(launch(), (*RUN, f"--dir={SITE}"), id="no flags"),
        pytest.param(launch(version=(1, 2, 27)), (*RUN, f"--dir={SITE}"), id="1.2.27"),
        pytest.param(launch(version=(1, 1, 34)), RUN, id="1.1.34 has no --dir"),
        pytest.param(
            launch("--agent", "plan", "-m", "a/b"),
            (*RUN, "--agent", "plan", "-m", "a/b", f"--dir={SITE}"),
            id="pitfall 9: the agent is passed each time",
        ),
        pytest.param(
            launch("-f", "a.txt", "b.txt", "--auto"),
            (*RUN, "--file=a.txt", "--file=b.txt", "--auto", f"--dir={SITE}"),
            id="files eat no other word",
        ),
        pytest.param(
            launch("-c", "--fork", "-s", FIRST, "--format", "default", "--dir", "/x", "--", "old"),
            (*RUN, f"--dir={SITE}"),
            id="no selector, format, directory or message",
        ),
    ],
)
def test_start(given: Launch, argv: tuple[str, ...]) -> None:
    """Pitfalls 1 and 11: the message is stdin, which ends; in argv opencode would put it in quotes."""
    assert ENGINE.start(given) == Invocation(argv, b"fix it", SITE, (("PWD", SITE),))


@pytest.mark.parametrize(
    ("given", "argv", "cwd"),
    [
        pytest.param(launch(session=FIRST), (*RUN, f"--session={FIRST}", f"--dir={SITE}"), SITE, id="1.18.33"),
        pytest.param(
            launch(session=FIRST, cwd=TREE),
            (*RUN, f"--session={FIRST}", f"--dir={SITE}"),
            SITE,
            id="pitfall 4: 1.18.33 answers in the session's directory only",
        ),
        pytest.param(
            launch(session=FIRST, cwd=TREE, version=(1, 14, 41)),
            (*RUN, f"--session={FIRST}", f"--dir={TREE}"),
            TREE,
            id="1.14.41 works where it is started",
        ),
        pytest.param(
            launch(session=FIRST, version=(1, 1, 34)), (*RUN, f"--session={FIRST}"), SITE, id="1.1.34 has no --dir"
        ),
        pytest.param(
            launch("--fork", session=FIRST), (*RUN, f"--session={FIRST}", "--fork", f"--dir={SITE}"), SITE, id="fork"
        ),
    ],
)
def test_resume(given: Launch, argv: tuple[str, ...], cwd: str) -> None:
    """Pitfall 5: opencode believes PWD, so it goes with the directory."""
    assert ENGINE.resume(given) == Invocation(argv, b"fix it", cwd, (("PWD", cwd),))


def test_continue_is_the_newest_session_of_the_directory() -> None:
    assert ENGINE.continue_ is not None
    made = ENGINE.continue_(launch("--agent", "plan", session=FIRST))
    assert made.argv == (*RUN, "--agent", "plan", "--continue", f"--dir={SITE}")


@pytest.mark.parametrize(
    "session",
    ["", "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "not-an-id", FIRST[:-1], f"{FIRST}x", f"{FIRST}\n", f"x{FIRST}", None],
)
def test_resume_refuses_what_opencode_would_not_know(session: str | None) -> None:
    """Pitfalls 6 and 19: an empty id starts again in silence, others hang (1.1.34) or exit 0 (1.2.27, 1.14.41)."""
    with pytest.raises(UserError) as raised:
        ENGINE.resume(launch(session=session))
    assert raised.value.code == "session_malformed"


def test_a_version_without_json_is_refused() -> None:
    with pytest.raises(UserError) as raised:
        ENGINE.start(launch(version=(0, 5, 29)))
    assert raised.value.code == "engine_too_old"
    with pytest.raises(UserError, match="format json"):
        check_version(ENGINE, (0, 5, 29))
    check_version(ENGINE, (1, 0, 185))


def test_the_terminal_form_has_flags_of_its_own() -> None:
    env = (("PWD", SITE),)
    start = ENGINE.start(launch("--agent", "plan", message="- x", terminal=True))
    resume = ENGINE.resume(launch(message=None, session=FIRST, terminal=True))
    assert start == Invocation(("opencode", "--agent", "plan", "--prompt=- x"), None, SITE, env)
    assert resume == Invocation(("opencode", f"--session={FIRST}"), None, SITE, env)
    again = ENGINE.resume(launch(message="- x", session=FIRST, terminal=True))
    assert again.argv == ("opencode", f"--session={FIRST}", "--mini", "--prompt=- x")
    with pytest.raises(UserError, match="without this message"):
        ENGINE.resume(launch(message="- x", session=FIRST, terminal=True, version=(1, 15, 13)))
    with pytest.raises(UserError, match="--title"):
        ENGINE.start(launch("--title", "t", terminal=True))


@pytest.mark.parametrize(
    "message",
    [
        "- [ ] do the thing",  # pitfall 10
        "---\ntitle: x\n---\nbody",
        "--help",
        "-",
        "@file.txt",
        "/clear",
        "/init",
        "say \"hi\" 'x' `y` $HOME \\n",
        "\n  lead and trail \r\n\n",
        "👩‍🚀 e\u0301 \u2028",
        "x" * 200_000,  # pitfall 12
    ],
)
def test_messages_go_through_stdin_untouched(message: str) -> None:
    """Each of these reached the model unchanged on 1.18.33."""
    ENGINE.check_message(NEW, message)
    assert ENGINE.start(launch(message=message)).stdin == message.encode()


def test_a_mark_that_opencode_drops_is_refused() -> None:
    ENGINE.check_message(NEW, "in the middle \ufeff it stays")
    with pytest.raises(UserError) as raised:
        ENGINE.check_message(NEW, "\ufeffmark")
    assert raised.value.code == "message_refused"


@pytest.mark.parametrize(
    ("flag", "version", "names"),
    [
        pytest.param("--fork", (1, 1, 34), ("--fork",), id="unknown to 1.1.34"),
        pytest.param("--auto", (1, 15, 13), ("--auto",), id="unknown to 1.15.13"),
        pytest.param("--auto", (1, 17, 18), (), id="known to 1.17.18"),
        pytest.param("--dangerously-skip-permissions", NEW, (), id="taken by 1.18.33, though not in its help"),
        pytest.param(
            "--dangerously-skip-permissions",
            (1, 2, 27),
            ("--dangerously-skip-permissions",),
            id="unknown to 1.2.27",
        ),
        pytest.param("--variant=high", (1, 0, 185), ("--variant",), id="unknown to 1.0.185"),
    ],
)
def test_flags_of_other_versions(flag: str, version: Version, names: tuple[str, ...]) -> None:
    assert rejected(OPTIONS, (flag,), version) == names


def test_the_person_s_directory_is_resolved_not_recorded() -> None:
    given = ("--dir", "sub", "-m", "a/b", "--share")
    assert directory(OPTIONS, given) == "sub"
    assert launch_args(OPTIONS, given) == ("-m", "a/b", "--share")
    assert widening(OPTIONS, given) == ("--share",)


def test_only_fork_forks() -> None:
    assert ENGINE.forks(NEW, ("-m", "a/b", "--fork"))
    assert not ENGINE.forks(NEW, ("--title", "--fork"))


@pytest.mark.parametrize(
    ("version", "same", "other"),
    [
        ((0, 5, 29), False, False),
        ((1, 0, 185), True, False),
        ((1, 1, 34), True, False),
        ((1, 2, 27), True, True),
        ((1, 14, 41), True, True),
        ((1, 15, 13), False, False),
        ((1, 17, 18), False, False),
        (NEW, False, False),
    ],
    ids=str,
)
def test_elsewhere(version: Version, same: bool, other: bool) -> None:
    """Pitfall 4: resume-from-worktree, resume-subdir and resume-other-cwd of each version."""
    assert (ENGINE.elsewhere(version, True), ENGINE.elsewhere(version, False)) == (same, other)
    assert bool(ENGINE.elsewhere_note(version)) is same


def test_locate_tells_the_session_s_directory(query: StoreQuery, data: Path) -> None:
    found = ENGINE.locate(query._replace(cwd=TREE, session=FIRST))
    assert found == Located("present", str(data / "opencode.db"), SITE)


@pytest.mark.parametrize("session", ["ses_" + "0" * 26, FIRST.swapcase(), None])
def test_locate_in_vain(query: StoreQuery, session: str | None) -> None:
    """Pitfall 6: an unknown id hangs, or exits 0 in silence, so it must be known before."""
    assert ENGINE.locate(query._replace(session=session)).state == "absent"


def test_locate_without_a_store(tmp_path: Path) -> None:
    asked = StoreQuery({"HOME": str(tmp_path)}, SITE, NEW, FIRST)
    assert ENGINE.locate(asked).state == "absent"
    assert list(tmp_path.iterdir()) == []


def test_locate_sees_the_write_ahead_log(query: StoreQuery, data: Path) -> None:
    with closing(sqlite3.connect(data / "opencode.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("UPDATE session SET id = ? WHERE id = ?", ("ses_" + "0" * 26, FIRST))
        database.commit()
        assert (data / "opencode.db-wal").stat().st_size
        assert ENGINE.locate(query._replace(session="ses_" + "0" * 26)).state == "present"
        assert ENGINE.locate(query._replace(session=FIRST)).state == "absent"


@pytest.mark.parametrize("content", [b"no database at all", b""], ids=["torn", "empty"])
def test_a_store_that_cannot_be_read_is_unknown(query: StoreQuery, data: Path, content: bytes) -> None:
    (data / "opencode.db").write_bytes(content)
    found = ENGINE.locate(query._replace(session=FIRST))
    assert found.state == "unknown"
    assert "opencode.db" in found.detail
    assert ENGINE.created_since(query) == ()


@pytest.mark.parametrize(
    "moved",
    [
        pytest.param(lambda data: {"XDG_DATA_HOME": str(data.parent)}, id="XDG_DATA_HOME"),
        pytest.param(lambda data: {"OPENCODE_DB": str(data / "opencode.db")}, id="OPENCODE_DB, absolute"),
        pytest.param(
            lambda data: {"XDG_DATA_HOME": str(data.parent), "OPENCODE_DB": "../opencode/opencode.db"},
            id="OPENCODE_DB, relative",
        ),
    ],
)
def test_the_store_can_be_moved(query: StoreQuery, data: Path, moved: object) -> None:
    env = {"HOME": "/nonexistent", **moved(data)}  # type: ignore[operator]  # the table's functions
    assert ENGINE.locate(query._replace(env=env, session=FIRST)).state == "present"


@pytest.mark.parametrize(
    ("version", "state"),
    [
        pytest.param((1, 1, 34), "present", id="1.1.34"),
        pytest.param((1, 2, 27), "present", id="1.2.27 takes the files over"),
        pytest.param(NEW, "absent", id="pitfall 22: 1.18.33 does not"),
    ],
)
def test_locate_in_json_files(tmp_path: Path, data: Path, version: Version, state: str) -> None:
    shutil.copytree(STORES / "1.1.34", data)
    query = StoreQuery({"HOME": str(tmp_path)}, SITE, version)
    found = ENGINE.locate(query._replace(session=BEFORE))
    assert (found.state, found.cwd) == (state, SITE if state == "present" else None)
    assert ENGINE.created_since(query) == ((BEFORE,) if state == "present" else ())
    assert ENGINE.created_since(query._replace(since=1_795_825_187.764)) == ()


def test_a_torn_json_file_is_no_session(tmp_path: Path, data: Path) -> None:
    shutil.copytree(STORES / "1.1.34", data)
    path = next(data.glob("storage/session/*/*.json"))
    path.write_bytes(path.read_bytes()[:100])
    assert ENGINE.locate(StoreQuery({"HOME": str(tmp_path)}, SITE, (1, 1, 34), BEFORE)).state == "absent"


@pytest.mark.parametrize(
    ("since", "sessions"),
    [
        pytest.param(0.0, (FIRST, SECOND), id="all, oldest first"),
        pytest.param(1_795_825_191.520, (FIRST, SECOND), id="made in that millisecond"),
        pytest.param(1_795_825_191.521, (SECOND,), id="the second"),
        pytest.param(1_795_825_198.628, (), id="none"),
    ],
)
def test_created_since(query: StoreQuery, since: float, sessions: tuple[str, ...]) -> None:
    assert ENGINE.created_since(query._replace(since=since)) == sessions
    assert ENGINE.created_since(query._replace(since=since, cwd=TREE)) == ()


def test_created_since_leaves_out_sub_agents(query: StoreQuery, data: Path) -> None:
    with closing(sqlite3.connect(data / "opencode.db")) as database:
        database.execute("UPDATE session SET parent_id = ? WHERE id = ?", (FIRST, SECOND))
        database.commit()
    assert ENGINE.created_since(query) == (FIRST,)
