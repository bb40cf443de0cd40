"""Claude and gemini: what their own recordings say of the model, the numbers, the errors and the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.model import Event, Source, Transcript
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.read import events, read

ID = "00000000-0001-4abc-8def-000000000001"
NOTICE = (
    "The --prompt (-p) flag has been deprecated and will be removed in a future version."
    " Please use a positional argument for your prompt. See gemini --help for more information."
)


def told(
    folder: Path, engine: str, *lines: dict[str, Any], stderr: str = "", exit_status: int = 0
) -> tuple[Transcript, list[Event]]:
    stdout = folder / "stdout"
    stdout.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "stderr").write_text(stderr)
    sources: dict[Source, Path] = {"stdout": stdout, "stderr": folder / "stderr"}
    profile = profile_of(engine)
    return read(profile, sources, exit_status=exit_status), list(events(profile, sources))


def claude_result(*models: str, tokens: int = 10, cost: float = 0.1, **more: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": ID,
        "result": "done",
        "usage": {"input_tokens": tokens, "output_tokens": 5},
        "total_cost_usd": cost,
        "modelUsage": {model: {} for model in models},
        **more,
    }


INIT = {"type": "system", "subtype": "init", "session_id": ID, "model": "claude-sonnet-4"}


def gemini_result(status: str, **tokens: int) -> dict[str, Any]:
    models = {f"gemini-{name}": {"total_tokens": count} for name, count in tokens.items()}
    failed = {"error": {"type": "unknown", "message": "[API Error: An unknown error occurred.]"}}
    return {"type": "result", "status": status, "stats": {"models": models}, **({} if status == "success" else failed)}


GEMINI = {"type": "init", "session_id": ID, "model": "auto"}


@pytest.mark.parametrize(
    ("engine", "lines", "model"),
    [
        pytest.param(
            "claude",
            [INIT, claude_result("claude-haiku", is_error=True, result="API Error: 429")],
            "claude-sonnet-4",
            id="claude: not the small one that alone answered",
        ),
        pytest.param("claude", [claude_result("claude-opus")], "claude-opus", id="claude: json names one model"),
        pytest.param("claude", [claude_result("claude-haiku", "claude-opus")], None, id="claude: json names several"),
        pytest.param(
            "gemini", [GEMINI, gemini_result("success", lite=15, flash=15)], "gemini-flash", id="gemini: not the router"
        ),
        pytest.param(
            "gemini", [GEMINI, gemini_result("success", lite=30, flash=45)], "gemini-flash", id="gemini: the busiest"
        ),
        pytest.param("gemini", [GEMINI, gemini_result("error", lite=15, flash=0)], "auto", id="gemini: none answered"),
    ],
)
def test_model(tmp_path: Path, engine: str, lines: list[dict[str, Any]], model: str | None) -> None:
    assert told(tmp_path, engine, *lines)[0].model == model


def test_claude_counts_tokens_by_turn_and_the_cost_in_total(tmp_path: Path) -> None:
    transcript, _ = told(tmp_path, "claude", INIT, claude_result(tokens=20, cost=0.3), claude_result(cost=0.4))
    assert transcript.usage == {"input_tokens": 30, "output_tokens": 10, "cost_usd": 0.4}


@pytest.mark.parametrize(
    ("engine", "kind"),
    [
        pytest.param("gemini", {"status": "success"}, id="gemini"),
        pytest.param("qwen", {"subtype": "success"}, id="qwen"),
    ],
)
def test_of_two_totals_the_later_counts(tmp_path: Path, engine: str, kind: dict[str, str]) -> None:
    """faults E: these tell what was used till then, each time."""
    key = {"gemini": "stats", "qwen": "usage"}[engine]
    totals = [{"type": "result", **kind, key: {"input_tokens": tokens}} for tokens in (20, 30)]
    assert told(tmp_path, engine, *totals)[0].usage == {"input_tokens": 30}


def test_claude_says_that_it_tries_again(tmp_path: Path) -> None:
    retry = {"type": "system", "subtype": "api_retry", "session_id": ID, "error": "unknown", "error_status": None}
    _, found = told(tmp_path, "claude", INIT, retry)
    assert found[-1] == Event("error", "retrying: unknown", data={"status": "failed", "fatal": False})


@pytest.mark.parametrize("size", [1, 200], ids=["line by line", "at once"])
def test_gemini_notice_is_no_answer(tmp_path: Path, size: int) -> None:
    said = [
        {"type": "message", "role": "assistant", "content": text, "delta": True} for text in (NOTICE + "\n", "fo", "ur")
    ]
    echo = {"type": "message", "role": "user", "content": "x" * 100}
    transcript, found = told(tmp_path, "gemini", GEMINI, *[echo] * size, *said, gemini_result("success"))
    assert transcript.final_message == "four"
    assert [event.text for event in found if event.kind == "error"] == [NOTICE]


def test_gemini_notice_is_no_failure(tmp_path: Path) -> None:
    """faults E: nothing follows it here, as after an end from outside."""
    said = {"type": "message", "role": "assistant", "content": NOTICE + "\n"}
    assert told(tmp_path, "gemini", GEMINI, said)[0].status == "interrupted"


def test_gemini_document_without_an_answer_has_no_message(tmp_path: Path) -> None:
    transcript, found = told(tmp_path, "gemini", {"response": "", "stats": {"models": {}, "tools": {}}})
    assert [event.kind for event in found] == ["usage", "end"]
    assert transcript.final_message is None


def test_gemini_connection_that_broke_is_told_on_stderr_only(tmp_path: Path) -> None:
    stderr = "Error when talking to Gemini API Full report available at: /tmp/e.json TypeError: terminated\n"
    result = gemini_result("error")
    transcript, _ = told(tmp_path, "gemini", GEMINI, result, stderr=stderr, exit_status=1)
    assert (transcript.status, transcript.error) == ("network", "[API Error: An unknown error occurred.]")


def test_qwen_names_the_error_that_ended_it(tmp_path: Path) -> None:
    """0.24.4, begun within a minute after it was killed while it started."""
    said = "ExtensionStoreBusyError: Extension store is busy at /home/me/.qwen/extension-store."
    stderr = f"An unexpected critical error occurred:\n{said}\n    at file:///qwen/chunk.js:141054:15\n"
    transcript, _ = told(tmp_path, "qwen", stderr=stderr, exit_status=1)
    assert (transcript.status, transcript.error) == ("failed", said)


def test_refusal_is_told_once_however_often_it_is_printed(tmp_path: Path) -> None:
    refusal = "Error resuming session: No previous sessions found for this project.\n"
    other = "Error resuming session: Invalid session identifier.\n"
    _, found = told(tmp_path, "gemini", stderr=refusal * 3 + other + refusal, exit_status=1)
    assert [event.text for event in found] == [refusal.rstrip(), other.rstrip(), refusal.rstrip()]


def test_gemini_says_why_it_begins_anew(tmp_path: Path) -> None:
    stderr = "No previous sessions found for this project.\n"
    transcript, found = told(tmp_path, "gemini", GEMINI, gemini_result("success"), stderr=stderr)
    assert transcript.status == "completed"
    assert Event("error", stderr.rstrip(), data={"status": "session_missing", "fatal": False}) in found
