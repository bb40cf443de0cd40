"""Field cases: what people's engines printed, reduced, with the right answer beside each."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.find import find_session
from git_agent_extractors.read import read, read_file
from support.cli import PROGRAM

CASES = Path(__file__).parent / "cases"


def expected(case: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((CASES / case / "expect.json").read_text())
    return answer


def inputs() -> list[Any]:
    params = []
    for folder in sorted(CASES.iterdir()):
        facts = expected(folder.name)
        files = facts.get("files")
        for path in sorted(folder.iterdir()):
            if path.name == "expect.json" or folder.name in {"A12", "A29"}:
                continue
            right = files[path.name] if isinstance(files, dict) else facts["session_id"]
            params.append(pytest.param(facts["engine"], path, right, id=f"{folder.name}-{path.stem}"))
    return params


@pytest.mark.parametrize(("engine", "path", "right"), inputs())
def test_session(engine: str, path: Path, right: str | None) -> None:
    assert read_file(engine, path).session.value == right
    assert find_session(engine, {"stdout": path})[0].value == right


@pytest.mark.parametrize(
    ("name", "key"),
    [
        pytest.param("turn1.txt", "parent_of_turn2", id="first run"),
        pytest.param("turn2.txt", "after_turn2_resume_uses", id="its resume"),
    ],
)
def test_each_run_of_an_old_claude_has_its_own_session(name: str, key: str) -> None:
    assert read_file("claude", CASES / "A12" / name).session.value == expected("A12")[key]


@pytest.mark.parametrize("name", ["crlf.txt", "utf8_bom.txt", "utf16le_bom.txt"])
def test_what_a_windows_shell_writes(name: str) -> None:
    transcript = read_file("codex", CASES / "A29" / name)
    assert transcript.session.value == expected("A29")["files"]["crlf.txt"]
    assert (transcript.status, transcript.final_message, transcript.warnings) == ("completed", "done", ())


def long_first_line(folder: Path) -> tuple[Path, str]:
    """A25, too large to be kept here."""
    value: str = expected("A25")["session_id"]
    long = json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "y" * 300_000}]}})
    path = folder / "stdout.txt"
    path.write_text(f'{long}\n{{"type":"result","result":"z","session_id":"{value}"}}\n')
    return path, value


def test_first_line_of_300_kb(tmp_path: Path) -> None:
    path, value = long_first_line(tmp_path)
    assert read_file("claude", path).session.value == value


def test_a_failing_run_keeps_its_id() -> None:
    transcript = read_file("opencode", CASES / "A21" / "error.txt")
    assert (transcript.status, transcript.error) == ("failed", "Unexpected server error")


def test_killed_before_its_first_turn_ended() -> None:
    transcript = read("codex", {"stdout": CASES / "A34" / "stdout.txt"}, exit_status=-15)
    assert (transcript.session.value, transcript.status) == (expected("A34")["session_id"], "interrupted")


def test_torn_tail_is_named_by_line() -> None:
    assert read_file("codex", CASES / "A27" / "torn_tail.txt").warnings == ("stdout line 2: the last line is cut",)


def through_the_command(engine: str, *paths: Path) -> list[dict[str, Any]]:
    argv = (*PROGRAM, "extract", engine, "--json", *map(str, paths))
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("case", [folder.name for folder in sorted(CASES.iterdir()) if folder.name != "A25"])
def test_command_says_the_same(case: str) -> None:
    """One object per file, in order, with the id that is right."""
    facts = expected(case)
    paths = sorted(path for path in (CASES / case).iterdir() if path.name != "expect.json")
    told = through_the_command(facts["engine"], *paths)
    assert [one["file"] for one in told] == [str(path) for path in paths]
    assert {Path(one["file"]).name: one["session"]["value"] for one in told} == right_ids(case, paths)


def right_ids(case: str, paths: list[Path]) -> dict[str, str | None]:
    facts = expected(case)
    if case == "A12":
        return {"turn1.txt": facts["parent_of_turn2"], "turn2.txt": facts["after_turn2_resume_uses"]}
    files = facts.get("files")
    if isinstance(files, dict):  # A29 accepts a warning for UTF-16; it is read
        return {path.name: files["crlf.txt"] if case == "A29" else files[path.name] for path in paths}
    return dict.fromkeys((path.name for path in paths), facts["session_id"])


def test_command_reads_a_first_line_of_300_kb(tmp_path: Path) -> None:
    path, value = long_first_line(tmp_path)
    (told,) = through_the_command("claude", path)
    assert told["session"] == {"field": "session_id", "value": value}
