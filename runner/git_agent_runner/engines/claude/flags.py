"""Claude Code's launch flags, and the versions that have them.

A range comes from the help of 1.0.24, 1.0.60, 1.0.124, 1.0.128, 2.0.42, 2.1.76, 2.1.200 and 2.1.332, and for flags that
the help leaves out from trying them. Where the exact release is not known, a flag is let through in the gap and the
engine has the last word.
"""

from __future__ import annotations

from git_agent_runner.engines.spec import ModeFlags, Option, Version

_HIDDEN = "2.1.332 takes it, its help leaves it out"

# First versions after the newest recorded one that has not the flag.
_60: Version = (1, 0, 25)
_124: Version = (1, 0, 61)
_128: Version = (1, 0, 125)
_V2: Version = (1, 0, 129)
_76: Version = (2, 0, 43)
_200: Version = (2, 1, 77)
_332: Version = (2, 1, 201)

_BYPASS = "--dangerously-skip-permissions"

CHOOSING = ("--permission-mode", _BYPASS, "--allowedTools", "--allowed-tools", "--tools", "--restricted")
MODES = (
    ModeFlags("read", ("--permission-mode", "plan"), since=_60),
    ModeFlags("edit", ("--permission-mode", "acceptEdits"), since=_60),
    ModeFlags("full", (_BYPASS,)),  # not for root, unless IS_SANDBOX is set
)

OPTIONS = (
    Option(("--model",), "one", "model", source="claude/*/flags-start"),
    Option(("--fallback-model",), "one", "model", since=_60, source="claude/*/help"),
    Option(("--effort",), "one", "model", since=_76, source="claude/*/help"),
    Option(("--advisor",), "one", "model", since=_76, source=_HIDDEN),
    Option(("--betas",), "many", "model", since=_76, source="claude/*/help"),
    Option(("--thinking",), "one", "model", since=_76, source=_HIDDEN),
    Option(("--max-thinking-tokens",), "one", "model", since=_V2, source=_HIDDEN),
    Option(("--max-turns",), "one", source="claude/2.1.76/x16-start-max-turns1"),
    Option(("--max-budget-usd",), "one", since=_76, source="claude/*/help"),
    Option(("--task-budget",), "one", since=_76, source=_HIDDEN),
    Option(("--json-schema",), "one", since=_76, source="claude/*/help"),
    Option(("--name", "-n"), "one", since=_76, source="claude/*/help"),
    Option(("--autocompact",), "one", since=_332, source="claude/2.1.332/help"),
    Option(("--brief",), "none", since=_76, source="claude/*/help"),
    Option(("--prompt-suggestions",), "optional", since=_200, source="claude/*/help"),
    Option(("--exclude-dynamic-system-prompt-sections",), "none", since=_200, source="claude/*/help"),
    Option(("--disable-slash-commands",), "none", since=_76, source="claude/*/help"),
    Option(("--ax-screen-reader",), "none", since=_200, source="claude/*/help"),
    Option(("--no-chrome",), "none", since=_76, source="claude/*/help"),
    Option(("--debug", "-d"), "optional", source="claude/*/help"),
    Option(("--debug-to-stderr", "-d2e"), "none", source=_HIDDEN),
    Option(("--debug-file",), "one", since=_76, widens=True, source="claude/*/help"),
    Option(("--mcp-debug",), "none", until=(2, 1, 200), source="claude/*/help"),
    Option(
        ("--allowedTools",),
        "many",
        "permission",
        widens=True,
        source="claude/*/tool",
    ),
    # 1.0.24 has only the other spelling of these two.
    Option(("--allowed-tools",), "many", "permission", since=_60, widens=True, source="claude/*/help"),
    Option(("--disallowedTools",), "many", "permission", source="claude/*/help"),
    Option(("--disallowed-tools",), "many", "permission", since=_60, source="claude/*/help"),
    Option(("--tools",), "many", "permission", since=_V2, widens=True, source="claude/*/help"),
    Option(
        ("--permission-mode",),
        "one",
        "permission",
        since=_60,
        widens=True,
        excludes=(_BYPASS,),
        source="claude/*/help",
    ),
    Option(("--permission-prompt-tool",), "one", "permission", widens=True, source=_HIDDEN),
    Option(("--permission-prompts",), "one", "permission", since=_332, widens=True, source="claude/2.1.332/help"),
    Option(
        (_BYPASS,),
        "none",
        "permission",
        widens=True,
        excludes=("--permission-mode",),  # wherever it stands, it wins over that (1.0.128, 2.1.332)
        source="claude/*/help",
    ),
    Option(
        ("--allow-dangerously-skip-permissions",), "none", "permission", since=_V2, widens=True, source="claude/*/help"
    ),
    Option(("--enable-auto-mode",), "none", "permission", since=_76, widens=True, source=_HIDDEN),
    Option(
        ("--restricted",),
        "none",
        "permission",
        since=_332,
        widens=True,
        excludes=(_BYPASS,),
        source="claude 2.1.332 refuses both",
    ),
    Option(("--bare",), "none", "permission", since=_200, widens=True, source="claude/*/help"),
    Option(("--safe-mode",), "none", "permission", since=_200, widens=True, source="claude/*/help"),
    Option(("--add-dir",), "many", widens=True, source="claude/*/help"),
    Option(("--settings",), "one", since=_124, widens=True, source="claude/*/help"),
    Option(("--setting-sources",), "one", since=_128, widens=True, source="claude/*/help"),
    Option(("--managed-settings",), "one", since=_76, widens=True, source=_HIDDEN),
    Option(("--mcp-config",), "many", widens=True, source="claude/*/help"),
    Option(("--strict-mcp-config",), "none", since=_60, source="claude/*/help"),
    Option(("--plugin-dir",), "one", since=_V2, widens=True, repeats=True, source="claude/*/help"),
    Option(("--plugin-url",), "one", since=_200, widens=True, repeats=True, source="claude/*/help"),
    Option(("--agent",), "one", widens=True, since=_76, source="claude/*/help"),
    Option(("--agents",), "one", widens=True, since=_128, source="claude/*/help"),
    Option(
        ("--system-prompt",),
        "one",
        widens=True,
        since=_V2,
        excludes=("--system-prompt-file",),
        source="claude/*/help",
    ),
    Option(("--system-prompt-file",), "one", widens=True, excludes=("--system-prompt",), source=_HIDDEN),
    Option(
        ("--append-system-prompt",),
        "one",
        widens=True,
        since=_60,
        excludes=("--append-system-prompt-file",),
        source="claude/*/help",
    ),
    Option(
        ("--append-system-prompt-file",),
        "one",
        widens=True,
        since=_V2,
        excludes=("--append-system-prompt",),
        source=_HIDDEN,
    ),
    Option(("--system-prompt-snapshot",), "one", since=_332, source="claude/2.1.332/help"),
    Option(("--plan-mode-instructions",), "one", widens=True, since=_76, source=_HIDDEN),
    Option(("--channels",), "many", widens=True, since=_76, source=_HIDDEN),
    Option(("--dangerously-load-development-channels",), "many", widens=True, since=_76, source=_HIDDEN),
    Option(("--file",), "many", "attachment", widens=True, since=_76, source="claude/*/help"),
    Option(("--ide",), "none", widens=True, since=_60, source="claude/*/help"),
    Option(("--chrome",), "none", widens=True, since=_76, source="claude/*/help"),
    Option(("--init",), "none", widens=True, since=_76, source=_HIDDEN),
    Option(("--maintenance",), "none", widens=True, since=_76, source=_HIDDEN),
    Option(("--remote-control",), "optional", widens=True, since=_200, source="claude/*/help"),
    Option(("--remote-control-session-name-prefix",), "one", widens=True, since=_200, source="claude/*/help"),
    Option(("--no-session-persistence",), "none", "no_session", since=_76, source="claude/*/help"),
    # Kept on purpose: each resume then makes a copy of the session under a new id, as the person asked.
    Option(("--fork-session",), "none", since=(1, 0, 112), source="claude/*/fork"),
    Option(("--resume", "-r"), "optional", "selector", source="claude/*/resume-stream-json"),
    Option(("--continue", "-c"), "none", "selector", source="claude/*/continue"),
    Option(("--session-id",), "one", "selector", since=_60, source="claude/*/preset"),
    Option(("--from-pr",), "optional", "selector", since=_76, source="claude/*/help"),
    Option(("--resume-session-at",), "one", "selector", source=_HIDDEN),
    Option(("--print", "-p"), "none", "format", source="claude/*/pty"),
    Option(("--output-format",), "one", "format", source="claude/*/pty"),
    Option(("--input-format",), "one", "format", source="claude/*/help"),
    Option(("--verbose",), "none", "format", source="claude/*/pty"),
    Option(("--include-partial-messages",), "none", "format", since=_124, source="claude/*/help"),
    Option(("--include-hook-events",), "none", "format", since=_200, source="claude/*/help"),
    Option(("--forward-subagent-text",), "none", "format", since=_332, source="claude/2.1.332/help"),
    Option(("--replay-user-messages",), "none", "format", since=_124, source="claude/*/help"),
    Option(("--prefill",), "one", "prompt", since=_76, source=_HIDDEN),
    # These end at once, or take the work where no run can follow: the cloud, the background, another work tree.
    Option(("--help", "-h"), "none", "exit", source="claude/*/help"),
    Option(("--version", "-v"), "none", "exit", source="claude/*/help"),
    Option(("--init-only",), "none", "exit", since=_76, source=_HIDDEN),
    Option(("--rewind-files",), "one", "exit", since=_76, source=_HIDDEN),
    Option(("--bg", "--background"), "none", "exit", since=_200, source="claude/*/help"),
    Option(("--cloud", "--remote"), "optional", "exit", source="claude/2.1.332/help"),
    Option(("--environment",), "one", "exit", since=_332, source="claude/2.1.332/help"),
    Option(("--desktop",), "none", "exit", since=_332, source="claude/2.1.332/help"),
    Option(("--teleport",), "optional", "exit", source="claude/2.1.332/help"),
    Option(("--worktree", "-w"), "optional", "exit", since=_76, source="claude/*/help"),
    Option(("--tmux",), "optional", "exit", since=_76, source="claude/*/help"),
)
