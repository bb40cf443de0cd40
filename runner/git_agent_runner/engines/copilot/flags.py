"""GitHub Copilot CLI's launch flags, and the versions that have them.

They are those of the help of 0.0.409 and 1.0.102, and some that 1.0.102 takes and its help leaves out. A range comes
from the changelog that 1.0.102 unpacks beside itself. Where it says nothing, a flag is let through and the engine has
the last word.
"""

from __future__ import annotations

from git_agent_runner.engines.spec import ModeFlags, Option, Version

JSON: Version = (0, 0, 422)  # "Add --output-format json flag to emit JSONL in prompt mode"
DIRECTORY: Version = (1, 0, 42)  # "Add -C <directory> flag to change working directory before starting"
SESSION_ID: Version = (1, 0, 51)  # "`--session-id=<id>` resumes known sessions, and starts new sessions with a UUID"

_HELP = "copilot/1.0.102/help"
_LOG = "copilot 1.0.102 changelog"
_HIDDEN = "1.0.102 takes it, its help leaves it out"
_AFTER: Version = (0, 0, 410)  # not in the help of 0.0.409
_RUST: Version = (1, 0, 85)  # "Command-line parsing moved from Commander to a Rust grammar"

CHOOSING = (
    "--allow-all-tools",
    "--allow-all",
    "--allow-tool",
    "--allow-all-paths",
    "--allow-all-urls",
    "--mode",
    "--plan",
)
MODES = (
    ModeFlags("read", ("--deny-tool=write", "--deny-tool=shell")),
    ModeFlags("edit", ("--allow-tool=write",)),
    ModeFlags("full", ("--allow-all",)),
)
OPTIONS = (
    Option(("--model",), "one", "model", source=_HELP),
    Option(("--reasoning-effort", "--effort"), "one", "model", since=(1, 0, 4), source=_LOG),
    Option(("--context",), "one", "model", since=_AFTER, source=_HELP),
    Option(("--auto-tier",), "one", "model", since=_AFTER, source=_HELP),
    Option(("--prompt", "-p"), "one", "prompt", source=_HELP),
    Option(("--interactive", "-i"), "one", "prompt", source=_HELP),
    Option(("--output-format",), "one", "format", since=JSON, source=_LOG),
    Option(("--silent", "-s"), "none", "format", source="copilot/1.0.102/help"),
    Option(("--resume", "-r"), "optional", "selector", source="copilot/1.0.102/resume-json"),
    Option(("--continue",), "none", "selector", source="copilot/1.0.102/continue"),
    Option(("--session-id",), "one", "selector", since=SESSION_ID, source="copilot/1.0.102/preset"),
    Option(("--connect",), "optional", "selector", since=_AFTER, source=_HELP),
    Option(("--name", "-n"), "one", since=(1, 0, 35), source=_LOG),
    Option(("-C",), "one", "directory", since=DIRECTORY, source=_LOG),
    Option(("--allow-all-tools",), "none", "permission", widens=True, source="copilot/1.0.102/tool"),
    Option(("--allow-all-paths",), "none", "permission", widens=True, source=_HELP),
    Option(("--allow-all-urls",), "none", "permission", widens=True, source=_HELP),
    Option(("--allow-all", "--yolo"), "none", "permission", widens=True, source=_HELP),
    Option(("--allow-tool",), "many", "permission", widens=True, source=_HELP),
    Option(("--allow-url",), "many", "permission", widens=True, source=_HELP),
    Option(("--deny-tool",), "many", "permission", source=_HELP),
    Option(("--deny-url",), "many", "permission", source=_HELP),
    Option(("--available-tools",), "many", "permission", widens=True, source=_HELP),
    Option(("--excluded-tools",), "many", "permission", source=_HELP),
    Option(("--disallow-temp-dir",), "none", "permission", source=_HELP),
    Option(("--secret-env-vars",), "many", "permission", since=_AFTER, source=_HELP),
    Option(("--trust-folder",), "none", "permission", since=(1, 0, 100), widens=True, source=_LOG),
    Option(("--assisted-approval",), "none", "permission", since=_AFTER, widens=True, source=_HELP),
    Option(("--sandbox",), "none", "permission", since=_AFTER, widens=True, source=_HIDDEN),
    Option(("--no-sandbox",), "none", "permission", since=_AFTER, widens=True, source=_HIDDEN),
    Option(("--mode",), "one", "permission", since=(1, 0, 23), widens=True, excludes=("--autopilot",), source=_LOG),
    Option(
        ("--autopilot",),
        "none",
        "permission",
        since=(1, 0, 23),
        widens=True,
        excludes=("--mode", "--plan"),
        source=_LOG,
    ),
    Option(("--plan",), "none", "permission", since=(1, 0, 23), widens=True, excludes=("--autopilot",), source=_LOG),
    Option(("--no-ask-user",), "none", "permission", source=_HELP),
    Option(("--add-dir",), "one", widens=True, repeats=True, source=_HELP),
    Option(("--attachment",), "one", "attachment", since=_AFTER, widens=True, repeats=True, source=_HELP),
    Option(("--additional-mcp-config",), "one", widens=True, repeats=True, source=_HELP),
    Option(("--mcp-github-auth",), "one", since=(1, 0, 90), widens=True, repeats=True, source=_LOG),
    Option(("--allow-all-mcp-server-instructions",), "none", since=_AFTER, widens=True, source=_HELP),
    Option(("--enable-mcp-server",), "one", since=_AFTER, widens=True, repeats=True, source=_HELP),
    Option(("--disable-mcp-server",), "one", repeats=True, source=_HELP),
    Option(("--disable-builtin-mcps",), "none", source=_HELP),
    Option(
        ("--enable-all-github-mcp-tools",),
        "none",
        widens=True,
        excludes=("--add-github-mcp-toolset", "--add-github-mcp-tool"),
        source=_HELP,
    ),
    Option(
        ("--add-github-mcp-toolset",),
        "one",
        widens=True,
        repeats=True,
        excludes=("--enable-all-github-mcp-tools",),
        source=_HELP,
    ),
    Option(
        ("--add-github-mcp-tool",),
        "one",
        widens=True,
        repeats=True,
        excludes=("--enable-all-github-mcp-tools",),
        source=_HELP,
    ),
    Option(("--plugin-dir",), "one", since=_AFTER, widens=True, repeats=True, source=_HELP),
    Option(("--extension-sdk-path",), "one", since=_AFTER, widens=True, source=_HELP),
    Option(("--config-dir",), "one", widens=True, source="help of 0.0.409"),
    Option(("--worktree", "-w"), "optional", since=(1, 0, 64), widens=True, source=_LOG),
    Option(("--bash-env",), "optional", since=_AFTER, widens=True, source=_HELP),
    Option(("--no-bash-env",), "none", since=_AFTER, source=_HELP),
    Option(("--agent",), "one", widens=True, source=_HELP),
    Option(("--fleet",), "none", since=_AFTER, widens=True, source=_HELP),
    Option(("--max-autopilot-continues",), "one", since=_AFTER, source=_HELP),
    Option(("--max-ai-credits",), "one", since=_AFTER, source=_HELP),
    Option(("--enable-memory",), "none", since=_AFTER, widens=True, source=_HELP),
    Option(("--experimental",), "none", widens=True, source=_HELP),
    Option(("--no-experimental",), "none", source=_HELP),
    Option(("--dynamic-retrieval",), "one", since=_AFTER, repeats=True, source=_HELP),
    Option(("--no-custom-instructions",), "none", source=_HELP),
    Option(("--share",), "optional", since=(0, 0, 375), widens=True, source=_LOG),
    Option(("--share-gist",), "none", since=(0, 0, 375), widens=True, source=_LOG),
    Option(("--remote",), "none", since=_AFTER, widens=True, excludes=("--no-remote-export",), source=_HELP),
    Option(("--no-remote",), "none", since=_AFTER, source=_HELP),
    Option(("--remote-export",), "none", since=_AFTER, widens=True, source=_HELP),
    Option(("--no-remote-export",), "none", since=_AFTER, source=_HELP),
    Option(("--usage-output-file",), "one", since=_AFTER, widens=True, source=_HELP),
    Option(("--log-dir",), "one", widens=True, source=_HELP),
    Option(("--log-level",), "one", source=_HELP),
    Option(("--stream",), "one", source=_HELP),
    Option(("--disable-client-telemetry",), "none", since=(1, 0, 100), source=_LOG),
    Option(("--no-auto-update",), "none", source=_HELP),
    Option(("--banner",), "none", source=_HELP),
    Option(("--no-color",), "none", source=_HELP),
    Option(("--screen-reader",), "none", source=_HELP),
    Option(("--plain-diff",), "none", source=_HELP),
    Option(("--mouse",), "optional", since=_AFTER, source=_HELP),
    Option(("--no-mouse",), "none", since=_AFTER, source=_HELP),
    Option(("--no-eager-powershell-resolution",), "none", since=_AFTER, source=_HELP),
    Option(("--alt-screen",), "none", until=_RUST, source="help of 0.0.409"),
    Option(("--no-alt-screen",), "none", until=_RUST, source="help of 0.0.409"),
    Option(("--disable-parallel-tools-execution",), "none", until=_RUST, source="help of 0.0.409"),
    # These end at once, serve others, or take the work where no run can follow.
    Option(("--acp",), "none", "exit", source=_HELP),
    Option(("--environment-host",), "one", "exit", since=_AFTER, source=_HELP),
    Option(("--environment-compute-id",), "one", "exit", since=_AFTER, source=_HELP),
    Option(("--version", "-v"), "none", "exit", source=_HELP),
    Option(("--help", "-h"), "none", "exit", source=_HELP),
)
