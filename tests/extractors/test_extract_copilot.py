"""copilot 1.0.102: what it says when something goes wrong, which no recording of its JSON shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_extractors.live import Decoder
from git_agent_extractors.model import Source
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.read import read

SESSION = "f84bc4f9-7bc5-4e2b-bf83-98145f181400"
NO_REPLY = f"\n\nChanges    +0 -0\nDuration   2s\nResume     copilot --resume={SESSION}\n"
GAVE_UP = "Failed to get response from the AI model; retried 5 times (total retry wait time: 5.32 seconds) Last error: "


@pytest.mark.parametrize(
    ("stderr", "status", "session"),
    [
        pytest.param(
            "\nAuthentication failed with provider at http://127.0.0.1:4000/v1 (HTTP 401).\n"
            f"  Check your COPILOT_PROVIDER_API_KEY.\n{NO_REPLY}",
            "auth_failed",
            SESSION,
            id="a key that is wrong",
        ),
        pytest.param(
            f"\n{GAVE_UP}429 Rate limit reached for requests.\n{NO_REPLY}", "rate_limited", SESSION, id="a rate limit"
        ),
        pytest.param(f"\n{GAVE_UP}503 The server is overloaded.\n{NO_REPLY}", "overloaded", SESSION, id="overload"),
        pytest.param(
            f"\n{GAVE_UP}Failed native model HTTP request: error decoding response body: unexpected EOF\n{NO_REPLY}",
            "network",
            SESSION,
            id="a reply that broke off",
        ),
        pytest.param(
            "\nCould not connect to local model provider at http://127.0.0.1:9/v1.\n"
            f"  Check that the service is running and the port is correct.\n{NO_REPLY}",
            "network",
            SESSION,
            id="nobody answers",
        ),
        pytest.param(
            "Error: No authentication information found.\n\nTo authenticate, you can use any of these:\n",
            "auth_failed",
            None,
            id="nobody is logged in",
        ),
        pytest.param(
            "Error: Classic Personal Access Tokens (ghp_) are not supported by Copilot.\n",
            "auth_failed",
            None,
            id="a token of the old kind",
        ),
        pytest.param(
            "Offline mode requires a local model provider. Set COPILOT_PROVIDER_BASE_URL to configure one.\n",
            "failed",
            None,
            id="no model",
        ),
    ],
)
def test_what_went_wrong(stderr: str, status: str, session: str | None, tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("")
    (tmp_path / "stderr").write_text(stderr)
    sources: dict[Source, Path] = {"stdout": tmp_path / "stdout", "stderr": tmp_path / "stderr"}
    told = read(profile_of("copilot"), sources, exit_status=1)
    assert (told.status, told.session.value) == (status, session)


@pytest.mark.parametrize(
    ("data", "failed", "words"),
    [
        pytest.param(
            {"success": True, "shellExecution": {"exitCode": 0}, "result": {"content": "a"}}, False, "a", id="0"
        ),
        pytest.param(
            {"success": True, "shellExecution": {"exitCode": 2}, "result": {"content": "a"}}, True, "a", id="2"
        ),
        pytest.param({"success": True, "result": {"content": "a"}}, False, "a", id="no command"),
        pytest.param({"success": False, "error": {"message": "denied"}}, True, "denied", id="refused"),
    ],
)
def test_a_command_that_failed_is_a_failed_tool(data: object, failed: bool, words: str) -> None:
    decoder = Decoder("copilot")
    line = json.dumps({"type": "tool.execution_complete", "data": data}).encode()
    (event,) = [*decoder.feed("stdout", line + b"\n"), *decoder.close()]
    assert (event.kind, event.text, bool(event.data.get("failed"))) == ("tool_result", words, failed)
