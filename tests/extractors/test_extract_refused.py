"""What an engine did not let its agent do, and what it waited for when it was stopped. Faults B2, B6 and G8.

The lines are those of real runs, cut down: claude x01-mutate-default-perm (1.0.24, 2.0.42, 2.1.332), codex
13c-resume-noflags-tool (0.65.0, 0.171.0), copilot start-json-tool-noallow (1.0.102), opencode with `ask` in its
permissions (1.2.27, 1.18.33), qwen flags-dropped and rate-limit (0.24.4).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.model import NOT_OFFERED, Refusal, Source, Transcript
from git_agent_extractors.read import read

ID = "00000000-0001-4abc-8def-000000000001"
SES = "ses_ddb81468afferX5tPdTB0omA6o"
Lines = list[dict[str, Any]]


def reading(folder: Path, engine: str, lines: Lines, stderr: str = "", exit_status: int | None = 0) -> Transcript:
    (folder / "stdout").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "stderr").write_text(stderr)
    sources: dict[Source, Path] = {"stdout": folder / "stdout", "stderr": folder / "stderr"}
    return read(engine, sources, exit_status=exit_status)


INIT = {"type": "system", "subtype": "init", "session_id": ID, "model": "claude-sonnet-4"}


def claude_call(name: str, **given: str) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": "toolu_1", "name": name, "input": given}]
    return {"type": "assistant", "message": {"content": content}, "parent_tool_use_id": None, "session_id": ID}


def claude_answer(words: str) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": words, "is_error": True}]
    return {"type": "user", "message": {"content": content}, "parent_tool_use_id": None, "session_id": ID}


def claude_result(**more: Any) -> dict[str, Any]:
    facts = {"type": "result", "subtype": "success", "is_error": False, "session_id": ID, "result": "done"}
    return {**facts, **more}


TOUCH = claude_call("Bash", command="touch mutated.txt")
WRITE = claude_call("Write", file_path="wf.txt", content="x")
DENIED = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "touch mutated.txt"}}
THREAD = {"type": "thread.started", "thread_id": ID}
TURN = {"type": "turn.completed", "usage": {"input_tokens": 20, "output_tokens": 10}}


def codex_command(command: str, output: str, **facts: Any) -> Lines:
    item = {"id": "item_0", "type": "command_execution", "command": f"bash -lc '{command}'"}
    done = {"aggregated_output": output, "exit_code": 1, "status": "failed", **facts}
    return [{"type": "item.started", "item": item}, {"type": "item.completed", "item": {**item, **done}}]


def opencode_tool(error: str) -> dict[str, Any]:
    state = {"status": "error", "input": {"command": "echo x > x.txt"}, "error": error}
    return {"type": "tool_use", "sessionID": SES, "part": {"type": "tool", "tool": "bash", "state": state}}


COPILOT_CALL = {"type": "tool.execution_start", "data": {"toolName": "bash", "arguments": {"command": "pwd"}}}
COPILOT_END = {"type": "result", "sessionId": ID, "exitCode": 0, "usage": {"premiumRequests": 0}}


def copilot_done(code: str) -> dict[str, Any]:
    error = {"message": "Permission denied because no interactive user response was available.", "code": code}
    return {"type": "tool.execution_complete", "data": {"toolCallId": "call_1", "success": False, "error": error}}


def qwen_init(*tools: str) -> dict[str, Any]:
    return {"type": "system", "subtype": "init", "session_id": ID, "tools": list(tools), "model": "m"}


QWEN_END = {"type": "result", "subtype": "success", "session_id": ID, "is_error": False, "result": "done"}
GEMINI = [{"type": "init", "session_id": ID, "model": "auto"}]


def gemini_tool(kind: str) -> Lines:
    call = {"type": "tool_use", "tool_name": "run_shell_command", "parameters": {"command": "pwd"}}
    error = {"type": kind, "message": "Tool execution denied by policy."}
    return [*GEMINI, call, {"type": "tool_result", "status": "error", "output": "denied", "error": error}]


@pytest.mark.parametrize(
    ("engine", "lines", "refused"),
    [
        pytest.param(
            "claude",
            [INIT, TOUCH, claude_result(permission_denials=[DENIED])],
            [("Bash", "touch mutated.txt")],
            id="claude",
        ),
        pytest.param(
            "claude",
            [INIT, TOUCH, claude_answer("Claude requested permissions to use Bash, but you haven't granted it yet.")],
            [("Bash", "touch mutated.txt")],
            id="claude 1.0.24: the result of the tool alone",
        ),
        pytest.param(
            "claude",
            [
                INIT,
                TOUCH,
                {"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "session_id": ID},
                claude_answer("touch needs approval."),
                claude_result(permission_denials=[DENIED]),
            ],
            [("Bash", "touch mutated.txt")],
            id="claude 2.1.332: said twice, told once",
        ),
        pytest.param(
            "claude",
            [INIT, TOUCH, {"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "session_id": ID}],
            [("Bash", "touch mutated.txt")],
            id="claude 2.1.332: killed before its end",
        ),
        pytest.param(
            "claude",
            [
                INIT,
                WRITE,
                claude_result(
                    permission_denials=[DENIED, {"tool_name": "Write", "tool_input": {"file_path": "wf.txt"}}]
                ),
            ],
            [("Bash", "touch mutated.txt"), ("Write", "wf.txt")],
            id="claude: two",
        ),
        pytest.param("claude", [INIT, TOUCH, claude_result(permission_denials=[])], [], id="claude: none"),
        pytest.param("claude", [INIT, claude_result(permission_denials="Bash")], [], id="claude: no list"),
        pytest.param("claude", [INIT, TOUCH, claude_answer("Exit code 137")], [], id="claude: a failure"),
        pytest.param(
            "codex",
            [THREAD, *codex_command("echo hi > f", "bash: line 1: f: Read-only file system\n"), TURN],
            [("shell", "echo hi > f")],
            id="codex",
        ),
        pytest.param(
            "codex",
            [THREAD, *codex_command("echo hi > f", "bash: line 1: f: Permission denied\n"), TURN],
            [("shell", "echo hi > f")],
            id="codex 0.65",
        ),
        pytest.param(
            "codex",
            [THREAD, *codex_command("make", "", status="declined", exit_code=None), TURN],
            [("shell", "make")],
            id="codex: declined",
        ),
        pytest.param(
            "codex",
            [
                THREAD,
                *codex_command("grep -r 'Read-only file system' .", "a: Read-only file system\n", exit_code=0),
                TURN,
            ],
            [],
            id="codex: words of a command that went well",
        ),
        pytest.param("codex", [THREAD, *codex_command("false", "no such thing\n"), TURN], [], id="codex: a failure"),
        pytest.param("copilot", [COPILOT_CALL, copilot_done("denied"), COPILOT_END], [("bash", "pwd")], id="copilot"),
        pytest.param("copilot", [COPILOT_CALL, copilot_done("failure"), COPILOT_END], [], id="copilot: a failure"),
        pytest.param("gemini", gemini_tool("policy_violation"), [("run_shell_command", "pwd")], id="gemini"),
        pytest.param("gemini", gemini_tool("shell_execute_error"), [], id="gemini: a failure"),
        pytest.param(
            "qwen",
            [qwen_init("read_file", "glob"), QWEN_END],
            [("run_shell_command", NOT_OFFERED), ("edit", NOT_OFFERED), ("write_file", NOT_OFFERED)],
            id="qwen: no such tools",
        ),
        pytest.param(
            "qwen",
            [qwen_init("run_shell_command", "edit", "write_file"), {**QWEN_END, "permission_denials": [DENIED]}],
            [("Bash", "touch mutated.txt")],
            id="qwen: refused",
        ),
        pytest.param("qwen", [qwen_init("run_shell_command", "edit", "write_file"), QWEN_END], [], id="qwen: none"),
    ],
)
def test_refused(tmp_path: Path, engine: str, lines: Lines, refused: list[tuple[str, str]]) -> None:
    found = reading(tmp_path, engine, lines)
    assert list(found.refused) == [Refusal(*pair) for pair in refused]
    assert found.unknown_events == {}


@pytest.mark.parametrize(
    "error",
    [
        "The user rejected permission to use this specific tool call.",
        'PermissionRejectedError({"_tag":"PermissionRejectedError"})',
        "The user has specified a rule which prevents you from using this specific tool call. Here are some [..]",
    ],
)
def test_opencode_stops_where_it_is_refused(tmp_path: Path, error: str) -> None:
    """It exits 0 after that, without an answer and without an end."""
    step = {"type": "step_finish", "sessionID": SES, "part": {"reason": "tool-calls", "tokens": {}, "cost": 0}}
    found = reading(tmp_path, "opencode", [opencode_tool(error), step])
    assert (found.status, found.refused) == ("failed", (Refusal("bash", "echo x > x.txt"),))
    assert reading(tmp_path, "opencode", [opencode_tool("no such file"), step]).refused == ()


ANSWER = {"verdict": "reject", "reasons": ["no test"]}


@pytest.mark.parametrize(
    ("engine", "lines"),
    [
        pytest.param("claude", [INIT, claude_result(result="", structured_output=ANSWER)], id="claude"),
        pytest.param(
            "claude",
            [
                INIT,
                {**TOUCH, "message": {"content": [{"type": "text", "text": "Let me see."}]}},
                claude_call("StructuredOutput", verdict="reject"),
                claude_result(result="", structured_output=ANSWER),
            ],
            id="claude: it spoke before",
        ),
        pytest.param("claude", [claude_result(result="", structured_output=ANSWER)], id="claude: json"),
        pytest.param(
            "qwen",
            [
                qwen_init("run_shell_command", "edit", "write_file"),
                {**TOUCH, "message": {"content": [{"type": "text", "text": "Let me see."}]}},
                {**QWEN_END, "result": json.dumps(ANSWER), "structured_result": ANSWER},
            ],
            id="qwen",
        ),
    ],
)
def test_the_answer_of_a_run_with_a_schema(tmp_path: Path, engine: str, lines: Lines) -> None:
    """Faults B6."""
    found = reading(tmp_path, engine, lines)
    assert found.status == "completed"
    assert json.loads(found.final_message or "") == ANSWER


RETRY = {"type": "system", "subtype": "retry", "session_id": ID, "data": {"attempt": 1, "maxRetries": 10}}
WHY = "Retrying in 1s (attempt 1/10): [API Error: 429 Rate limit reached for requests.]\n"
SAID = {
    "type": "assistant",
    "session_id": ID,
    "parent_tool_use_id": None,
    "message": {"content": [{"type": "text", "text": "hm"}], "usage": {"output_tokens": 5}},
}
API_RETRY = {"type": "system", "subtype": "api_retry", "error_status": 429, "error": "rate_limit", "session_id": ID}
TOOLS = qwen_init("run_shell_command", "edit", "write_file")


@pytest.mark.parametrize(
    ("engine", "lines", "stderr", "status"),
    [
        pytest.param("qwen", [TOOLS, RETRY], WHY, "rate_limited", id="qwen"),
        pytest.param("qwen", [TOOLS, RETRY], WHY.replace("429 Rate", "503 Rate"), "overloaded", id="qwen: overloaded"),
        pytest.param("qwen", [TOOLS, RETRY, SAID], WHY, "interrupted", id="qwen: it went on"),
        pytest.param("qwen", [TOOLS, RETRY], "", "interrupted", id="qwen: nothing says why"),
        pytest.param("claude", [INIT, API_RETRY], "", "rate_limited", id="claude"),
        pytest.param("claude", [INIT, API_RETRY, SAID], "", "interrupted", id="claude: it went on"),
        pytest.param(
            "gemini",
            GEMINI,
            "Attempt 1 failed with status 429. Retrying with backoff...\n",
            "rate_limited",
            id="gemini",
        ),
        pytest.param(
            "codex",
            [THREAD, {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 429 Too Many Requests)"}],
            "",
            "rate_limited",
            id="codex",
        ),
    ],
)
@pytest.mark.parametrize("exit_status", [0, -2, 130])
def test_a_run_that_was_stopped_while_it_waited(
    tmp_path: Path, engine: str, lines: Lines, stderr: str, status: str, exit_status: int
) -> None:
    """Faults G8: what it was waiting for is what went wrong."""
    assert reading(tmp_path, engine, lines, stderr, exit_status).status == status


def test_a_run_whose_end_nobody_saw_is_interrupted(tmp_path: Path) -> None:
    """The machine went down: `resume --all` takes it up."""
    assert reading(tmp_path, "claude", [INIT, API_RETRY], exit_status=None).status == "interrupted"
