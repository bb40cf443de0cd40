"""Five pairs of versions between which an engine is known to differ, and exactly what a drift between them says."""

from __future__ import annotations

from typing import NamedTuple

Said = tuple[str, str, str, str, str]  # area, what, before, after, situations

_ABSENT = "not in the help"


class Pair(NamedTuple):
    """`relied` and `others` are all findings in these situations."""

    engine: str
    base: str
    version: str
    situations: str
    relied: set[Said]
    others: set[Said]


def _flag(name: str, before: str, after: str, pages: str) -> Said:
    return ("flags", name, before, after, pages)


PAIRS = (
    Pair(
        "codex",
        "0.65.0",
        "0.98.0",
        "start-json resume-json resume-twice resume-unknown-json help-exec help-exec-resume help-resume help",
        {
            # From 0.98.0 on usage counts the whole thread, before it counted this process.
            ("usage", "input_tokens", "10", "20", "resume-json"),
            ("usage", "input_tokens", "10", "30", "resume-twice"),
            ("usage", "output_tokens", "5", "10", "resume-json"),
            ("usage", "output_tokens", "5", "15", "resume-twice"),
        },
        {
            (
                "session",
                "stderr, text: N ERROR codex_core::rollout::list: state db missing rollout path for thread ID",
                "is not there",
                "stands there",
                "resume-json resume-twice",
            ),
            ("stream", "stderr", "nothing", "text", "resume-json resume-twice resume-unknown-json start-json"),
            # What `exec resume` takes behind it.
            _flag("--all", _ABSENT, "takes no value", "help-exec-resume"),
            _flag("--dangerously-bypass-approvals-and-sandbox", _ABSENT, "takes no value", "help-exec-resume"),
            _flag("--full-auto", _ABSENT, "takes no value", "help-exec-resume"),
            _flag("--image", _ABSENT, "takes one value", "help-exec-resume"),
            _flag("--json", _ABSENT, "takes no value", "help-exec-resume"),
            _flag("--model", _ABSENT, "takes one value", "help-exec-resume"),
            _flag("--skip-git-repo-check", _ABSENT, "takes no value", "help-exec-resume"),
            _flag("--no-alt-screen", _ABSENT, "takes no value", "help help-resume"),
        },
    ),
    Pair(
        "claude",
        "1.0.120",
        "1.0.124",
        "start-stream-json resume-stream-json resume-json resume-twice resume-unknown-stream-json continue fork help",
        {
            (
                "resume",
                "resume",
                "resumes under a new id",
                "resumes under the same id",
                "resume-json resume-stream-json resume-twice",
            ),
        },
        {
            (
                "keys",
                "modelUsage.*.contextWindow of result/success",
                "absent",
                "number",
                "continue fork start-stream-json",
            ),
            _flag(
                "--permission-mode values",
                "acceptEdits bypassPermissions default plan",
                "acceptEdits bypassPermissions default plan sandboxBashMode",
                "help",
            ),
        },
    ),
    Pair(
        "codex",
        "0.116.0",
        "0.117.0",
        "start-json resume-json resume-unknown-json resume-unknown-text resume-malformed help-exec help-resume",
        {
            ("resume", "resume", "starts a new session", "fails", "resume-unknown-json resume-unknown-text"),
            ("status", "status", "completed", "session_missing", "resume-unknown-json resume-unknown-text"),
            ("exit", "exit status", "0", "1", "resume-unknown-json resume-unknown-text"),
            ("stream", "stdout", "JSON", "nothing", "resume-unknown-json"),
            ("stream", "stdout", "text", "nothing", "resume-unknown-text"),
        },
        {
            ("stream", "stderr", "nothing", "text", "resume-unknown-json"),
            _flag("--include-non-interactive", _ABSENT, "takes no value", "help-resume"),
            _flag("--progress-cursor", "takes no value", _ABSENT, "help-exec"),
            _flag("--remote-auth-token-env", _ABSENT, "takes one value", "help-resume"),
        },
    ),
    Pair(
        "gemini",
        "0.36.0",
        "0.41.2",
        "start-json start-stream-json resume-json resume-elsewhere resume-unknown-json tool untrusted-directory help",
        {
            ("status", "status", "completed", "untrusted", "untrusted-directory"),
            ("exit", "exit status", "0", "55", "untrusted-directory"),
            ("stream", "stdout", "JSON", "nothing", "untrusted-directory"),
            # .json became .jsonl
            (
                "store",
                "session file",
                "another form",
                "an object a line",
                "resume-elsewhere resume-json start-json start-stream-json tool",
            ),
            ("keys", "output of tool_result", "string", "absent", "tool"),
        },
        {
            (
                "stream",
                "stderr",
                "nothing",
                "text",
                "resume-elsewhere resume-json start-json start-stream-json untrusted-directory",
            ),
            _flag("--session-id", _ABSENT, "takes one value", "help"),
            _flag("--skip-trust", _ABSENT, "takes no value", "help"),
        },
    ),
    Pair(
        "opencode",
        "1.2.27",
        "1.18.33",
        "start-json resume-json resume-elsewhere resume-subdirectory resume-unknown-json resume-malformed auth-failure"
        " help-run",
        {
            (
                "resume",
                "resume",
                "resumes under the same id",
                "resumes under the same id, and never ends",
                "resume-elsewhere resume-subdirectory",
            ),
            ("status", "status", "completed", "no_output", "resume-elsewhere resume-subdirectory"),
            ("end", "how it ended", "returned", "timed_out", "resume-elsewhere resume-subdirectory"),
            ("stream", "stdout", "JSON", "nothing", "resume-elsewhere resume-subdirectory"),
            ("resume", "resume", "does nothing", "fails", "resume-malformed resume-unknown-json"),
            ("status", "status", "no_output", "session_missing", "resume-malformed"),
            ("exit", "exit status", "0", "1", "auth-failure resume-malformed resume-unknown-json"),
        },
        {
            ("stream", "stderr", "text", "nothing", "auth-failure start-json"),
            ("stream", "stderr", "nothing", "text", "resume-malformed"),
            _flag("--auto", _ABSENT, "takes no value", "help-run"),
            _flag("--interactive", _ABSENT, "takes no value", "help-run"),
            _flag("--pure", _ABSENT, "takes no value", "help-run"),
            _flag("--username", _ABSENT, "takes one value", "help-run"),
        },
    ),
)
