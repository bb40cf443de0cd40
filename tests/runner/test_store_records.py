"""Records as YAML: what we write, every reader reads; what a person wrote stays; what is broken is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from git_agent_extractors.model import Session, Status
from git_agent_runner.core.model import Attempt, Earlier, Record
from git_agent_runner.store import records
from git_agent_runner.store.records import CorruptRecord, attempts, document
from git_agent_runner.store.records.document import Shape
from support.stored import MOMENT, record, run_id

CASES = Path(__file__).parent / "cases"
CANONICAL = f"""\
schema: 1
handle: "7f3a9c21"
runId: "20261127T101502Z-codex-7f3a9c21"
runDirectory: "agent/runs/20261127T101502Z-codex-7f3a9c21"
agentName: "codex"
session: {{"field": "thread_id", "value": "0199c9a8-81c0-7800-8aa1-7ffac1586f13"}}
parentSession: null
earlierSessions: []
forkedFrom: null
launch: {{"args": ["--model", "gpt-5"]}}
branch: "feature/retry"
worktree: "/home/dev/repo"
worktreeId: "worktrees/repo@1795826472123456789"
cwd: "/home/dev/repo/src"
commonDir: "/home/dev/repo/.git"
commonDirId: "2049:1835021"
startCommit: "{"1a2b3c4d" * 5}"
status: "completed"
attempts: 1
engineVersion: "0.171.0"
host: "box"
store: null
role: "work"
createdAt: "{MOMENT}"
updatedAt: "{MOMENT}"
"""
BLOCK = """\
# made by hand
handle: 7f3a9c21   # mine
runId: 20261127T101502Z-codex-7f3a9c21
runDirectory: agent/runs/20261127T101502Z-codex-7f3a9c21
agentName: codex
session:
  field: thread_id
  value: 1e234567  # no number
launch:
  args:
    - --model  # the good one
    - 5
    - "-v"
# about the branch
branch: 12e4
ticket: 0042  # ours, not git-agent's
urgent: yes
parentSession:
updatedAt: 2026-11-27T10:15:02.000Z
# the end
"""


def test_what_follows_the_last_line_is_kept() -> None:
    """A comment without a line break at the end of a file that is otherwise as we write it."""
    path = "x.yaml"
    old = f"{CANONICAL}# mine"
    known = records.parse(old, path)
    new = records.update_text(old, known._replace(attempts=2), path)
    assert "# mine" in new
    assert records.parse(new, path) == known._replace(attempts=2)


@pytest.mark.parametrize(
    "session",
    [
        pytest.param(Session("thread_id", "0199c9a8"), id="both"),
        pytest.param(Session(None, None), id="none"),
        pytest.param(Session("a, b", "null"), id="odd"),
        pytest.param(Session("thread_id", 'a", "value": "b'), id="quotes"),
        pytest.param(Session("thread_id", "caf\u00e9"), id="beyond ASCII"),
    ],
)
@pytest.mark.parametrize("branch", ["feature/retry", None, "null", "caf\u00e9", 'a"b', "a\\b", ""])
def test_one_of_many_is_read_like_the_first(session: Session, branch: str | None) -> None:  # faults D1
    """Ordinary files are read by a pattern once there are many."""
    made = record()._replace(session=session, branch=branch, launch_args=("--model", "gpt-5"))
    text = records.render(made)
    for _ in range(30):
        assert records.parse(text, "x.yaml") == made


# Any text that has a UTF-8 form, and bytes of a path that is none, as os.fsdecode gives them.
texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from([chr(c) for c in range(0xDC80, 0xDD00)]))
sessions = st.builds(Session, st.none() | texts, st.none() | texts)
any_record = st.builds(
    record,
    st.text("0123456789abcdef", min_size=8, max_size=8),
    agent_name=texts,
    session=sessions,
    launch_args=st.lists(texts, max_size=4).map(tuple),
    updated_at=texts,
    branch=st.none() | texts,
    cwd=texts,
    status=st.none() | st.sampled_from(get_args(Status)),
    attempts=st.integers(0, 10**20),
    parent_session=st.none() | texts,
    earlier=st.lists(st.builds(Earlier, texts, sessions, st.lists(texts, max_size=2).map(tuple)), max_size=2).map(
        tuple
    ),
    forked_from=st.none() | texts,
)


def by_ruamel(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def as_ruamel_should_read(made: Record) -> dict[str, Any]:
    return {field.key: field.json(made) for field in records.SHAPE.fields}


def test_the_canonical_form() -> None:
    assert records.render(record()) == CANONICAL
    assert records.parse(CANONICAL, "p") == record()


@given(any_record)
def test_every_reader_gets_the_record_that_was_written(made: Record) -> None:
    text = records.render(made)
    assert by_ruamel(text) == as_ruamel_should_read(made)
    assert records.parse(text, "p") == made
    # The slow reader sees the same in the same text.
    assert records.parse(f"{text}# edited\n", "p") == made
    text.encode()


@given(any_record, any_record)
def test_an_edited_record_reads_back_as_it_was_changed(before: Record, after: Record) -> None:
    after = after._replace(handle=before.handle, run_id=before.run_id)
    old = (
        "# top\n"
        + records.render(before).replace("\nbranch", " # at the end of a line\n# above\nbranch")
        + "mine: 007\n"
    )
    new = records.update_text(old, after, "p")
    assert records.parse(new, "p") == after
    assert [
        line for line in ("# top\n", "# at the end of a line\n", "# above\n", "mine: 007\n") if line not in new
    ] == []


@given(st.dictionaries(st.sampled_from(["handle", "branch", "launch"]), st.none() | st.text() | st.lists(st.text())))
def test_a_json_line_is_one_line_and_yaml(value: dict[str, Any]) -> None:
    line = records.json_line(value)
    assert len(f"x{line}x".splitlines()) == 1
    assert by_ruamel(f"- {line}\n") == [_without_surrogates(value)]


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return {key: _without_surrogates(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("é😀", '"é😀"', id="unescaped beyond ASCII"),
        pytest.param("\x00\x1b\x7f\x85\x9f", r'"\u0000\u001b\u007f\u0085\u009f"', id="controls"),
        pytest.param("\u2028\u2029\ufeff", r'"\u2028\u2029\ufeff"', id="separators and byte order mark"),
        pytest.param("a\ud83db\udce9", '"a\ufffdb\ufffd"', id="lone surrogates replaced"),
    ],
)
def test_escapes_of_a_json_line(text: str, expected: str) -> None:
    assert records.json_line(text) == expected


def test_a_path_that_is_not_utf8_comes_back_byte_for_byte() -> None:
    made = record(cwd="/home/caf\udce9")
    assert r'cwd: "/home/caf\udce9"' in records.render(made)
    assert records.parse(records.render(made), "p") == made


def test_the_message_with_everything_in_it_survives() -> None:
    """Case D05."""
    message = (CASES / "D05/message.txt").read_bytes().decode()
    assert {"\x1b", "\x07", "\r", "\u2028"} <= set(message)
    made = record(launch_args=(message,))
    assert records.parse(records.render(made), "p").launch_args == (message,)
    assert by_ruamel(records.render(made))["launch"]["args"] == [message]


def test_a_record_made_by_hand() -> None:
    assert records.parse(BLOCK, "p") == Record(
        handle="7f3a9c21",
        run_id=run_id(),
        run_directory=f"agent/runs/{run_id()}",
        agent_name="codex",
        session=Session("thread_id", "1e234567"),
        launch_args=("--model", "5", "-v"),
        branch="12e4",
        updated_at=MOMENT,
    )


def test_saving_touches_only_what_changed() -> None:
    made = records.parse(BLOCK, "p")
    changed = made._replace(session=Session("thread_id", "12345678"), attempts=2, updated_at="later")
    lines = records.update_text(BLOCK, changed, "p").splitlines()
    kept = [line for line in BLOCK.splitlines() if not line.lstrip(" ").startswith(("value", "updatedAt", "-", "args"))]
    assert [line for line in kept if line not in lines] == []
    assert [line.split() for line in lines if "value" in line] == [["value:", '"12345678"', "#", "no", "number"]]
    assert lines[-3:] == ['updatedAt: "later"', "# the end", "attempts: 2"]


@pytest.mark.parametrize(
    "args",
    [
        pytest.param((), id="none left"),
        pytest.param(("--model",), id="fewer"),
        pytest.param(("--model", "6", "-v"), id="one changed"),
        pytest.param(("--model", "5", "-v", "-w"), id="one more"),
    ],
)
def test_comments_around_a_list_survive_its_change(args: tuple[str, ...]) -> None:
    changed = records.parse(BLOCK, "p")._replace(launch_args=args)
    new = records.update_text(BLOCK, changed, "p")
    assert records.parse(new, "p") == changed
    assert "# about the branch\nbranch: 12e4\n" in new
    assert ("# the good one" in new) == bool(args)


def test_a_canonical_record_stays_canonical() -> None:
    changed = record(attempts=2, branch=None)
    assert records.update_text(CANONICAL, changed, "p") == records.render(changed)


@pytest.mark.parametrize("handle", ["12345678", "1e234567", "0012e345", "00123456", "deadbeef", "12345e67"])
def test_a_handle_that_looks_like_a_number_is_the_text_that_was_typed(handle: str) -> None:
    text = BLOCK.replace("7f3a9c21", handle)
    made = records.parse(text, "p")
    assert made.handle == handle
    assert f"handle: {handle} " in records.update_text(text, made._replace(attempts=3), "p")
    assert f'handle: "{handle}"\n' in records.render(made)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        pytest.param("- a\n", 1, "expected lines of the form `key: value`", id="a list"),
        pytest.param("a: [1\n", None, "expected ',' or ']'", id="not closed"),
        pytest.param(f"{CANONICAL}cwd: *x\n", 26, "found undefined alias 'x'", id="alias without anchor"),
        pytest.param(f"{CANONICAL}---\n{CANONICAL}", 26, "found another document", id="two documents"),
        pytest.param("- " * 5000, None, "recursion", id="bottomless"),
        pytest.param('a: "\\UFFFFFFFF"\n', None, "not YAML", id="escape beyond Unicode"),
        pytest.param(f"{BLOCK}cwd: !!set x\n", None, "not YAML", id="tag that does not fit"),
        pytest.param(f"{BLOCK}x: \x1b[31m\n", 21, "special characters are not allowed (U+001B)", id="raw escape"),
        pytest.param(CANONICAL.replace('"7f3a9c21"', '"7F"'), 2, "invalid `handle`; expected 8 char", id="handle"),
        pytest.param(CANONICAL.replace("schema: 1", "schema: 2"), 1, "a newer git-agent", id="newer schema"),
        pytest.param(CANONICAL.replace("attempts: 1", "attempts: -1"), 19, "expected a whole number", id="negative"),
        pytest.param(CANONICAL.replace("attempts: 1", 'attempts: "1"'), 19, "expected a whole number", id="quoted"),
        pytest.param(CANONICAL.replace('"completed"', '"done"'), 18, "invalid `status`; expected one of", id="status"),
        pytest.param(CANONICAL.replace('["--model", "gpt-5"]', '"x"'), 10, "`args`, a list of strings", id="args"),
        pytest.param(CANONICAL.replace('"gpt-5"', "null"), 10, "`args`, a list of strings", id="null in args"),
        pytest.param(CANONICAL.replace('"thread_id"', "[1]"), 6, "invalid `session`", id="session"),
        pytest.param(CANONICAL.replace('"codex"\n', "null\n"), 5, "invalid `agentName`; expected a string", id="null"),
        pytest.param(CANONICAL.replace("agentName", "agent"), None, "`agentName` is missing", id="key missing"),
        pytest.param(f"{BLOCK}a: &a [*a]\ncwd: *a\n", 22, "invalid `cwd`", id="endless alias"),
    ],
)
def test_corrupt_text_is_named_with_its_line(text: str, line: int | None, reason: str) -> None:
    for refused in (
        lambda: records.parse(text, "/r/x.yaml"),
        lambda: records.update_text(text, record(), "/r/x.yaml"),
    ):
        with pytest.raises(CorruptRecord) as caught:
            refused()
        assert reason in caught.value.message
        assert caught.value.message.startswith("cannot read '/r/x.yaml'")
        assert caught.value.code == "corrupt_record"
        if line:
            assert f"', line {line}: " in caught.value.message


def test_a_handle_that_is_another_runs_is_corrupt() -> None:
    with pytest.raises(CorruptRecord, match="does not end with the handle aaaaaaaa"):
        records.parse(CANONICAL.replace('handle: "7f3a9c21"', 'handle: "aaaaaaaa"'), "p")


@pytest.mark.parametrize("cut", range(0, len(CANONICAL) - 1, 7))
def test_a_torn_record_is_never_taken_for_a_whole_one(cut: int) -> None:
    with pytest.raises(CorruptRecord):
        records.parse(CANONICAL[:cut], "p")


@pytest.mark.parametrize("lines", range(CANONICAL.count("\n")))
def test_a_record_torn_between_lines_is_not_whole(lines: int) -> None:
    with pytest.raises(CorruptRecord):
        records.parse("".join(CANONICAL.splitlines(keepends=True)[:lines]), "p")


def test_of_a_key_that_is_there_twice_the_last_one_counts_and_is_told() -> None:
    told: list[str] = []
    made = records.parse(f"{BLOCK}branch: main\n", "/r/x.yaml", told.append)
    assert made.branch == "main"
    assert told == ["'/r/x.yaml': `branch` is in lines 15 and 21; the last one counts"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('launch: {"args":  ["--model", "gpt-5"]}', id="a blank more"),
        pytest.param('launch: {"args": ["--model", "gpt-5"], "mine": 1}', id="a key more"),
        pytest.param('launch: {"args": [], "args": ["--model", "gpt-5"]}', id="a key twice"),
        pytest.param(r'launch: {"args": ["--model", "gpt\u002d5"]}', id="another escape"),
    ],
)
def test_what_is_only_nearly_canonical_keeps_its_form(line: str) -> None:
    text = CANONICAL.replace('launch: {"args": ["--model", "gpt-5"]}', line)
    assert records.parse(text, "p") == record()
    new = records.update_text(text, record(branch="main"), "p")
    assert records.parse(new, "p") == record(branch="main")
    assert ('"mine": 1' in new) == ('"mine"' in line)


def test_surrogate_pairs_are_read_as_yaml_reads_them() -> None:
    """JSON makes one character of them, YAML two: the record is YAML."""
    text = CANONICAL.replace('"box"', r'"\ud83d\ude00"')
    assert records.parse(text, "p").host == "\ud83d\ude00" == by_ruamel(text)["host"]


@pytest.mark.parametrize("shape", [records.SHAPE, attempts.SHAPE], ids=["record", "attempt"])
def test_each_field_has_one_key_and_the_last_is_required(shape: Shape[Any]) -> None:
    made = Record if shape is records.SHAPE else Attempt
    assert sorted(field.name for field in shape.fields) == sorted(get_type_hints(made))
    assert len({field.key for field in shape.fields}) == len(shape.fields)
    assert shape.fields[-1].required


def test_a_canonical_record_is_read_without_ruamel() -> None:
    code = """
import sys
from git_agent_runner.store import records
from git_agent_runner.store.records import listing
records.parse(sys.stdin.read(), "p")
print(*sys.modules)
"""
    done = subprocess.run(
        (sys.executable, "-c", code),
        input=CANONICAL,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "git_agent_runner.store.records.listing" in loaded
    assert loaded.isdisjoint({"ruamel.yaml", "git", "psutil", "subprocess", "dataclasses", "pathlib", "datetime"})


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "7f3a9c21.yaml"
    path.write_bytes(b"# one\n# caf\xe9\n")
    with pytest.raises(CorruptRecord, match="line 2: not UTF-8"):
        document.read_text(str(path))
