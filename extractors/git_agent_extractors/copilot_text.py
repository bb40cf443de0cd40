"""What GitHub Copilot CLI says in plain text: failures, and what text mode and the terminal form leave at the end."""

from __future__ import annotations

import re

from git_agent_extractors.model import Event
from git_agent_extractors.profile import NOTHING, UUID, ErrorRule, Events, Hint, Mode, end

# What it says where nothing answers, and of a reply that broke off (copilot/1.0.102/hang-up).
NETWORK = re.compile(
    r"Could not connect to (?:local model )?provider at "
    r"|(?:Failed to get response from the AI model; [^\n]*Last error: )?Failed native model HTTP request: "
)
ERRORS = (
    # copilot/1.0.102/resume-unknown-json, exit 1
    ErrorRule(re.compile(r"Error: No session, task, or name matched "), "session_missing"),
    # Where nobody is logged in.
    ErrorRule(
        re.compile(r"Error: (?:No authentication information found|Classic Personal Access Tokens)"), "auth_failed"
    ),
    ErrorRule(NETWORK, "network"),
    ErrorRule(
        re.compile(
            r"Error: |error: |No prompt provided|No such agent: |Offline mode requires a local model provider"
            r"|Authentication failed with provider at |Failed to get response from the AI model; "
        ),
        None,
    ),
)

# The rows before `Resume`, as they are there: no tokens where no reply came, credits with an account (its changelog).
_NUMBERS = re.compile(r"(?:Tokens {5}|Duration {3}|AI Credits )")
_RESUME = re.compile(rf"Resume {{5}}copilot --resume=({UUID})\s*\Z")


class Statistics:
    """The last lines of text mode, in their own column: numbers, then `Resume     copilot --resume=<id>`."""

    def __init__(self, _mode: Mode) -> None:
        self._near = False

    def line(self, text: str, raw: bytes) -> Events:
        found = _RESUME.match(text) if self._near else None
        self._near = _NUMBERS.match(text) is not None
        if not found or found[1].encode() not in raw:
            return NOTHING
        return (Event("session", found[1], data={"value": found[1]}), end("completed"))


# Drawn beside the four rows of its logo once the screen is given back (copilot/1.0.102/interactive-start).
_LOGO = "  (?:╭─╮╭─╮   |╰─╯╰─╯   |█ ▘▝ █   | ▔▔▔▔    | {9})"
HINT = Hint(
    b"copilot --resume=",
    re.compile(
        f"(?m)^{_LOGO}(?:Changes    |Duration   |AI Credits ).*\n{_LOGO}(?:Duration   |Tokens     |AI Credits ).*\n"
        f"{_LOGO}Resume     copilot --resume=({UUID})\\Z".encode()
    ),
)
