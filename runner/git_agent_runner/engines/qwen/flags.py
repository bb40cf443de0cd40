"""Qwen Code's launch flags, and the versions that have them.

A range comes from the help of 0.5.2, 0.10.1 and 0.24.4. Where the exact release is not known, a flag is let through in
the gap and the engine has the last word. Array flags are read to the next flag (the bundle of 0.24.4: no `nargs`).
"""

from __future__ import annotations

from git_agent_runner.engines.spec import ModeFlags, Option, Version

_HELP = "qwen/*/help"
_OLD: Version = (0, 10, 1)  # 0.5.2 has these flags, 0.10.1 has not
_NEXT: Version = (0, 5, 3)  # 0.5.2 has not these flags, 0.10.1 has
_NEW: Version = (0, 10, 2)  # 0.10.1 has not these flags, 0.24.4 has
_GONE: Version = (0, 24, 4)  # 0.10.1 has these flags, 0.24.4 has not

CHOOSING = ("--yolo", "--approval-mode", "--allowed-tools")
MODES = (
    ModeFlags("read", ("--approval-mode", "plan")),
    ModeFlags("edit", ("--approval-mode", "auto-edit")),
    ModeFlags("full", ("--yolo",)),
)
OPTIONS = (
    Option(("--model", "-m"), "one", "model", source=_HELP),
    Option(("--fallback-model",), "many", "model", since=_NEW, source=_HELP),
    Option(("--vlm-switch-mode",), "one", "model", until=_GONE, source=_HELP),
    Option(("--auth-type",), "one", widens=True, source=_HELP),
    Option(("--prompt", "-p"), "one", "prompt", source="qwen/*/start-json"),
    Option(("--prompt-interactive", "-i"), "one", "prompt", source=_HELP),
    Option(("--output-format", "-o"), "one", "format", source="qwen/*/start-json"),
    Option(("--input-format",), "one", "format", source=_HELP),
    Option(("--include-partial-messages",), "none", "format", source=_HELP),
    Option(("--json-fd",), "one", "format", since=_NEW, source=_HELP),
    Option(("--json-file",), "one", "format", since=_NEW, source=_HELP),
    Option(("--resume", "-r"), "optional", "selector", source="qwen/*/resume-json"),
    Option(("--continue", "-c"), "none", "selector", source="qwen/*/continue"),
    Option(("--session-id",), "one", "selector", since=_NEW, source="qwen/0.24.4/preset"),
    # Kept on purpose: each resume then makes a copy of the session under a new id, as the person asked.
    Option(("--fork-session",), "none", since=_NEW, source="qwen/*/fork"),
    Option(("--no-chat-recording",), "none", "no_session", source="yargs takes it for --chat-recording=false"),
    Option(("--chat-recording",), "none", source=_HELP),
    Option(
        ("--yolo", "-y"),
        "none",
        "permission",
        widens=True,
        excludes=("--approval-mode",),
        source="qwen/*/tool",
    ),
    Option(("--approval-mode",), "one", "permission", widens=True, excludes=("--yolo",), source=_HELP),
    Option(("--sandbox", "-s"), "none", "permission", widens=True, source=_HELP),
    Option(("--sandbox-image",), "one", "permission", widens=True, source=_HELP),
    Option(("--allowed-tools",), "many", "permission", widens=True, source=_HELP),
    Option(("--core-tools",), "many", "permission", widens=True, source=_HELP),
    Option(("--exclude-tools",), "many", "permission", source=_HELP),
    Option(("--allowed-mcp-server-names",), "many", "permission", widens=True, source=_HELP),
    Option(("--mcp-config",), "one", since=_NEW, widens=True, source=_HELP),
    Option(("--include-directories",), "many", widens=True, source=_HELP),
    Option(("--add-dir",), "many", since=_NEW, widens=True, source=_HELP),
    Option(("--extensions", "-e"), "many", widens=True, source=_HELP),
    Option(("--all-files", "-a"), "none", until=_OLD, widens=True, source=_HELP),
    Option(("--proxy",), "one", widens=True, source=_HELP),
    Option(("--insecure",), "none", since=_NEW, widens=True, source=_HELP),
    Option(("--checkpointing",), "none", until=_GONE, source=_HELP),
    Option(("--openai-api-key",), "one", widens=True, source=_HELP),
    Option(("--openai-base-url",), "one", widens=True, source=_HELP),
    Option(("--openai-logging",), "none", widens=True, source=_HELP),
    Option(("--openai-logging-dir",), "one", widens=True, source=_HELP),
    Option(("--tavily-api-key",), "one", until=_GONE, widens=True, source=_HELP),
    Option(("--google-api-key",), "one", until=_GONE, widens=True, source=_HELP),
    Option(("--google-search-engine-id",), "one", until=_GONE, widens=True, source=_HELP),
    Option(("--web-search-default",), "one", until=_GONE, widens=True, source=_HELP),
    Option(("--telemetry",), "none", widens=True, source=_HELP),
    Option(("--telemetry-target",), "one", widens=True, source=_HELP),
    Option(("--telemetry-otlp-endpoint",), "one", widens=True, source=_HELP),
    Option(("--telemetry-otlp-protocol",), "one", widens=True, source=_HELP),
    Option(("--telemetry-log-prompts",), "none", widens=True, source=_HELP),
    Option(("--telemetry-outfile",), "one", widens=True, source=_HELP),
    Option(("--input-file",), "one", since=_NEW, widens=True, source=_HELP),
    Option(("--worktree",), "optional", since=_NEW, widens=True, source=_HELP),
    Option(("--system-prompt",), "one", since=_NEW, widens=True, source=_HELP),
    Option(("--append-system-prompt",), "one", since=_NEW, widens=True, source=_HELP),
    Option(("--output-style",), "one", since=_NEW, source=_HELP),
    Option(("--json-schema",), "one", since=_NEW, source=_HELP),
    Option(("--max-session-turns",), "one", source=_HELP),
    Option(("--max-wall-time",), "one", since=_NEW, source=_HELP),
    Option(("--max-tool-calls",), "one", since=_NEW, source=_HELP),
    Option(("--max-subagent-depth",), "one", since=_NEW, source=_HELP),
    Option(("--disabled-slash-commands",), "many", since=_NEW, source=_HELP),
    Option(("--bare",), "none", since=_NEW, widens=True, source=_HELP),
    Option(("--safe-mode",), "none", since=_NEW, widens=True, source=_HELP),
    Option(("--experimental-lsp",), "none", since=_NEXT, widens=True, source=_HELP),
    Option(("--restore-ask-user-question",), "none", since=_NEW, source=_HELP),
    Option(("--channel",), "one", source=_HELP),
    Option(("--debug", "-d"), "none", source=_HELP),
    Option(("--screen-reader",), "none", source=_HELP),
    Option(("--show-memory-usage",), "none", until=_OLD, source=_HELP),
    # The agent client protocol takes over both streams: no run of ours.
    Option(("--acp",), "none", "format", since=_NEXT, source=_HELP),
    Option(("--experimental-acp",), "none", "format", source="help of 0.5.2; in the bundles of 0.10.1 and 0.24.4"),
    Option(("--list-extensions", "-l"), "none", "exit", source=_HELP),
    Option(("--version", "-v"), "none", "exit", source=_HELP),
    Option(("--help", "-h"), "none", "exit", source=_HELP),
)
