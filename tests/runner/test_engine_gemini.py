"""gemini: argv at several versions, messages, and the session files that real gemini wrote (`stores/gemini`)."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import launch_args, parse, rejected, widening
from git_agent_runner.engines.gemini.command import ENGINE, OPTIONS
from git_agent_runner.engines.spec import Launch, StoreQuery, Version, parse_version

STORES = Path(__file__).parent / "stores" / "gemini"
SITE = "/home/ada/site"  # where the sessions in the stores were made
ID = "89b42574-3a0d-4aca-8e37-a027aeb418dc"  # 0.61.0: started 00:18, resumed 00:19 (which made a twin)
NEXT = "7e68b581-0ad4-463a-a377-8785128182a3"  # 0.61.0: started 00:19, after that resume
NEW: Version = (0, 61, 0)
OLD: Version = (0, 20, 2)


def launch(
    *args: str,
    version: Version = NEW,
    message: str | None = "fix it",
    session: str | None = None,
    terminal: bool = False,
) -> Launch:
    return Launch("gemini", version, args, message, session, SITE, SITE, terminal)


def chats(home: Path) -> Path:
    return next((home / ".gemini" / "tmp").glob("*/chats"))


@pytest.fixture
def query(tmp_path: Path) -> StoreQuery:
    return stored(tmp_path, "0.61.0")


def stored(home: Path, version: str) -> StoreQuery:
    shutil.copytree(STORES / version, home / ".gemini")
    return StoreQuery({"HOME": str(home)}, SITE, parse_version(version) or ())


START = ("gemini", "--output-format", "stream-json")


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        pytest.param(launch(), START, id="no flags"),
        pytest.param(launch(version=OLD), START, id="0.20.2"),
        pytest.param(launch(version=(0, 10, 0)), ("gemini", "--output-format", "json"), id="0.10.0 has no stream-json"),
        pytest.param(launch(session=ID), (*START, f"--session-id={ID}"), id="minted id"),
        pytest.param(
            launch("-y", "-m", "pro", "-e", "a", "--extensions=b"),
            ("gemini", "-y", "-m", "pro", "-e", "a", "--extensions=b", *START[1:]),
            id="flags keep their values",
        ),
        pytest.param(
            launch("--yolo", "--approval-mode=plan"),
            ("gemini", "--approval-mode=plan", *START[1:]),
            id="pitfall 8: two approval modes are refused by gemini, the last one counts",
        ),
        pytest.param(launch("-y", "-y"), ("gemini", "-y", *START[1:]), id="the same mode twice is given once"),
        pytest.param(
            launch("--skip-trust"), ("gemini", "--skip-trust", *START[1:]), id="pitfall 2: trust is passed each time"
        ),
        pytest.param(
            launch("-r", "-o", "json", "-p", "old"), START, id="pitfall 23: no second prompt, no other format"
        ),
        pytest.param(launch("--resume", "5", "-d"), ("gemini", "-d", *START[1:]), id="pitfall 18: an index is dropped"),
    ],
)
def test_start(given: Launch, argv: tuple[str, ...]) -> None:
    assert ENGINE.start(given) == Invocation(argv, b"fix it", SITE)


def test_a_start_never_trusts_or_permits_by_itself() -> None:
    """Pitfalls 2 and 8: what the person did not give is not given."""
    argv = ENGINE.start(launch()).argv
    assert not [word.name for word in parse(OPTIONS, argv[1:]) if word.option and word.option.role == "permission"]


@pytest.mark.parametrize("version", [(0, 20, 2), (0, 36, 0), (0, 41, 2), (0, 61, 0)], ids=str)
def test_resume_names_the_session_once_and_nothing_else(version: Version) -> None:
    """Pitfall 23: `--session-id` together with `--resume` is an error."""
    made = ENGINE.resume(launch("-y", "--session-id", NEXT, version=version, session=ID))
    assert made == Invocation(("gemini", "-y", *START[1:], f"--resume={ID}"), b"fix it", SITE)


@pytest.mark.parametrize("session", ["", "latest", "1", ID[:8], ID.upper(), f"{ID}\n", "--yolo", None])
def test_resume_refuses_what_gemini_takes_for_another_session(session: str | None) -> None:
    """Pitfalls 6 and 18: an empty id is the latest one, a number an unstable index."""
    with pytest.raises(UserError) as raised:
        ENGINE.resume(launch(session=session))
    assert raised.value.code == "session_malformed"


def test_the_terminal_form_takes_the_message_as_a_value() -> None:
    start = ENGINE.start(launch("-m", "pro", message="- [ ] x", terminal=True))
    resume = ENGINE.resume(launch(message=None, session=ID, terminal=True))
    assert start == Invocation(("gemini", "-m", "pro", "--prompt-interactive=- [ ] x"), None, SITE)
    assert resume == Invocation(("gemini", f"--resume={ID}"), None, SITE)


def test_a_worktree_of_its_own_is_refused() -> None:
    with pytest.raises(UserError, match="--worktree"):
        ENGINE.start(launch("-w", "feature"))


@pytest.mark.parametrize(
    "message",
    [
        "- [ ] do the thing",  # pitfall 10
        "---\ntitle: x\n---\nbody",
        "--help",
        "-",
        "@file.txt",
        "/clear",
        "/foo bar",
        "//comment",
        "/* comment */",
        " /quit",
        "say \"hi\" 'x' `y` $HOME \\n",
        "\n  lead and trail \r\n\n",
        "\ufeffmark",
        "👩‍🚀 e\u0301 \u2028",
        "x" * 200_000,  # pitfall 12
    ],
)
def test_messages_go_through_stdin_untouched(message: str) -> None:
    """Each of these reached the model unchanged, 0.61.0 and 0.36.0 (`@file.txt`: where no such file is)."""
    ENGINE.check_message(NEW, message)
    ENGINE.check_message((0, 36, 0), message)
    assert ENGINE.start(launch(message=message)) == Invocation(START, message.encode(), SITE)


@pytest.mark.parametrize("message", ["/quit", "/quit now", "/ init", "/model pro", "/docs are outdated", "/bug-memory"])
def test_messages_that_gemini_carries_out_are_refused(message: str) -> None:
    ENGINE.check_message((0, 24, 5), message)
    for version in ((0, 29, 0), NEW):
        with pytest.raises(UserError) as raised:
            ENGINE.check_message(version, message)
        assert raised.value.code == "message_refused"


@pytest.mark.parametrize("message", ["mail a@b.example now", "git clone git@github.com:x/y.git"])
def test_an_address_that_old_versions_split_is_refused(message: str) -> None:
    """0.20.2 and 0.24.5 sent `a @b.example`; `@name` after a blank they left alone."""
    ENGINE.check_message((0, 29, 0), message)
    ENGINE.check_message((0, 24, 5), "look at @nope.txt, x @ y, \\@z")
    with pytest.raises(UserError) as raised:
        ENGINE.check_message((0, 24, 5), message)
    assert raised.value.code == "message_refused"


@pytest.mark.parametrize("message", ["/clear", "/clear now", "/new", "/compact"])
def test_a_resume_refuses_what_empties_the_conversation(message: str) -> None:
    with pytest.raises(UserError, match="empty or shorten"):
        ENGINE.resume(launch(message=message, session=ID))
    assert ENGINE.resume(launch(message=message, session=ID, version=OLD)).stdin == message.encode()


def test_a_message_beyond_what_gemini_reads_is_refused() -> None:
    """Pitfall 12: 9 MB on stdin made no model call and exited 0."""
    ENGINE.check_message(NEW, "é" * 4_194_304)
    with pytest.raises(UserError) as raised:
        ENGINE.check_message(NEW, "é" * 4_194_304 + "x")
    assert raised.value.code == "message_too_large"


@pytest.mark.parametrize(
    ("flag", "version", "names"),
    [
        pytest.param("--skip-trust", (0, 36, 0), ("--skip-trust",), id="pitfall 2: unknown to 0.36.0"),
        pytest.param("--skip-trust", (0, 41, 2), (), id="known to 0.41.2"),
        pytest.param("--all-files", (0, 10, 0), (), id="known to 0.10.0"),
        pytest.param("--all-files", OLD, ("--all-files",), id="unknown to 0.20.2"),
        pytest.param("--policy=p", (0, 29, 0), ("--policy",), id="unknown to 0.29.0"),
    ],
)
def test_flags_of_other_versions(flag: str, version: Version, names: tuple[str, ...]) -> None:
    assert rejected(OPTIONS, (flag,), version) == names


def test_array_flags_take_one_word_each() -> None:
    """`nargs: 1`: a word after it is a message, which a record does not keep."""
    assert launch_args(OPTIONS, ("--allowed-tools", "a", "b", "-e", "c")) == ("--allowed-tools", "a", "-e", "c")


def test_flags_that_widen() -> None:
    given = ("-y", "--skip-trust", "-s", "--include-directories", "/", "-m", "pro", "--debug", "--strange")
    assert widening(OPTIONS, given) == ("-y", "--skip-trust", "-s", "--include-directories", "--strange")


def test_an_id_is_minted_from_0_41_2() -> None:
    assert ENGINE.mint((0, 36, 0)) is None
    minted = ENGINE.mint((0, 41, 2))
    assert minted is not None
    assert ENGINE.id_pattern.fullmatch(minted)


def test_no_version_resumes_elsewhere_or_forks() -> None:
    """Pitfall 3."""
    assert not any(ENGINE.elsewhere(version, True) for version in (OLD, (0, 36, 0), NEW))
    assert not ENGINE.forks(NEW, ("-y",))


@pytest.mark.parametrize(
    ("version", "session"),
    [("0.20.2", "70e4a80a"), ("0.36.0", "2c6482ad"), ("0.61.0", ID[:8])],
    ids=["hashed bucket", "named bucket, json", "named bucket, jsonl"],
)
def test_locate(tmp_path: Path, version: str, session: str) -> None:
    query = stored(tmp_path, version)
    (full,) = [found for found in ENGINE.created_since(query) if found.startswith(session)]
    found = ENGINE.locate(query._replace(session=full))
    assert (found.state, found.cwd) == ("present", SITE)
    assert found.path is not None
    assert f"-{session}.json" in found.path


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"cwd": f"{SITE}/sub"}, id="sub-directory"),
        pytest.param({"cwd": "/home/ada/elsewhere/site"}, id="another directory of the same name"),
        pytest.param({"session": f"{ID[:8]}-0000-4000-8000-000000000000"}, id="another id with the same start"),
        pytest.param({"session": "11111111-2222-4333-8444-555555555555"}, id="unknown id"),
        pytest.param({"env": {"HOME": "/nonexistent"}}, id="no store"),
        pytest.param({"version": OLD}, id="pitfall 22: 0.20.2 does not see a named bucket"),
    ],
)
def test_locate_in_vain(query: StoreQuery, change: dict[str, object]) -> None:
    """Pitfalls 3 and 6: gemini would begin again in silence (0.36.0, 0.41.2) or never end (0.20.2)."""
    asked = query._replace(session=ID)
    assert ENGINE.locate(asked).state == "present"
    assert ENGINE.locate(asked._replace(**change)).state == "absent"  # type: ignore[arg-type]  # the table's values


def test_metadata_alone_is_no_session(tmp_path: Path, query: StoreQuery) -> None:
    """Pitfall 7: retention deleted the conversation; here only the twin of the later resume is left."""
    (chats(tmp_path) / f"session-2026-11-28T00-18-{ID[:8]}.jsonl").unlink()
    found = ENGINE.locate(query._replace(session=ID))
    assert found.state == "absent"
    assert "only the metadata" in found.detail


@pytest.mark.parametrize(
    ("added", "state"),
    [
        # What 0.61.0 writes when the first prompt is answered by a 401.
        pytest.param([{"$set": {"messages": []}}], "absent", id="taken back"),
        pytest.param([{"$rewindTo": "no such message"}], "absent", id="rewound to nowhere"),
        pytest.param([{"$set": {"messages": []}}, {"id": "9", "type": "user", "content": "MK9"}], "present", id="new"),
        pytest.param([{"$set": {"lastUpdated": "2026-11-28T00:18:00.000Z"}}], "present", id="metadata"),
    ],
)
def test_messages_that_were_taken_back_are_gone(
    tmp_path: Path, query: StoreQuery, added: list[dict[str, object]], state: str
) -> None:
    with (chats(tmp_path) / f"session-2026-11-28T00-18-{ID[:8]}.jsonl").open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in added)
    assert ENGINE.locate(query._replace(session=ID)).state == state


def test_a_torn_line_costs_no_session(tmp_path: Path, query: StoreQuery) -> None:
    path = chats(tmp_path) / f"session-2026-11-28T00-18-{ID[:8]}.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    assert ENGINE.locate(query._replace(session=ID)).state == "present"


def test_a_store_that_cannot_be_read_is_unknown(tmp_path: Path, query: StoreQuery) -> None:
    shutil.rmtree(chats(tmp_path))
    loop = tmp_path / ".gemini" / "tmp" / "site" / "chats"
    loop.symlink_to(loop)
    assert ENGINE.locate(query._replace(session=ID)).state == "unknown"


def test_a_hashed_bucket_is_used_until_it_was_taken_over(tmp_path: Path) -> None:
    """Pitfall 22: from 0.20.2 to 0.61.0 the session is found, since the next start copies the bucket."""
    query = stored(tmp_path, "0.20.2")._replace(version=NEW)
    (session,) = ENGINE.created_since(query)
    assert ENGINE.locate(query._replace(session=session)).state == "present"
    (tmp_path / ".gemini" / "tmp" / "site").mkdir()
    (tmp_path / ".gemini" / "projects.json").write_text(json.dumps({"projects": {SITE: "site"}}))
    assert ENGINE.locate(query._replace(session=session)).state == "present"
    (tmp_path / ".gemini" / "tmp" / "site" / "chats").mkdir()
    assert ENGINE.locate(query._replace(session=session)).state == "absent"


@pytest.mark.parametrize("registry", ["{", '{"projects": {"/home/ada/site": "../../elsewhere"}}', "[]", None])
def test_a_lost_registry_is_made_up_by_the_markers(tmp_path: Path, query: StoreQuery, registry: str | None) -> None:
    path = tmp_path / ".gemini" / "projects.json"
    path.unlink()
    if registry is not None:
        path.write_text(registry)
    assert ENGINE.locate(query._replace(session=ID)).state == "present"


def test_a_symbolic_link_to_the_directory_is_the_directory(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "site")
    query = stored(tmp_path, "0.61.0")
    (tmp_path / ".gemini" / "tmp" / "site" / ".project_root").write_text(os.path.realpath(tmp_path / "site"))
    assert ENGINE.locate(query._replace(session=ID, cwd=str(tmp_path / "link"))).state == "present"


def test_the_home_can_be_moved(tmp_path: Path, query: StoreQuery) -> None:
    moved = query._replace(env={"HOME": "/nonexistent", "GEMINI_CLI_HOME": str(tmp_path)}, session=ID)
    assert ENGINE.locate(moved).state == "present"
    assert ENGINE.locate(moved._replace(version=OLD)).state == "absent"


@pytest.mark.parametrize(
    ("since", "sessions"),
    [
        pytest.param(0.0, (ID, NEXT), id="all, oldest first"),
        # 00:19:00 UTC: the first session has a file of that minute, but was made before.
        pytest.param(1_795_825_140.0, (NEXT,), id="a resumed session is not new"),
        pytest.param(1_795_825_184.070, (NEXT,), id="made in that millisecond"),
        pytest.param(1_795_825_184.071, (), id="none"),
    ],
)
def test_created_since(query: StoreQuery, since: float, sessions: tuple[str, ...]) -> None:
    assert ENGINE.created_since(query._replace(since=since)) == sessions


def test_created_since_leaves_out_sub_agents_and_other_directories(tmp_path: Path, query: StoreQuery) -> None:
    path = chats(tmp_path) / f"session-2026-11-28T00-19-{NEXT[:8]}.jsonl"
    path.write_text(path.read_text().replace('"kind":"main"', '"kind":"subagent"', 1))
    assert ENGINE.created_since(query) == (ID,)
    assert ENGINE.created_since(query._replace(cwd="/home/ada")) == ()
