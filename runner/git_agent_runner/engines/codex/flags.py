"""Codex's launch flags, and the versions that have them."""

from __future__ import annotations

from git_agent_runner.engines.spec import ModeFlags, Option

# clap refuses any two of these beside each other ("cannot be used with", 0.65.0 and 0.171.0), but for --sandbox beside
# --yolo or --full-auto: there it is silently void.
_MODES = ("--full-auto", "--yolo", "--approve-for-me")

CHOOSING = ("--sandbox", "--ask-for-approval", *_MODES)
MODES = (
    ModeFlags("read", ("--sandbox", "read-only")),
    ModeFlags("edit", ("--sandbox", "workspace-write")),
    ModeFlags("full", ("--dangerously-bypass-approvals-and-sandbox",)),
)

OPTIONS = (
    Option(("-m", "--model"), "one", "model", source="codex/*/flags-start"),
    Option(("-c", "--config"), "one", widens=True, repeats=True, source="codex/*/help"),
    Option(("--enable",), "one", since=(0, 45), widens=True, repeats=True, source="codex/*/help"),
    Option(("--disable",), "one", since=(0, 45), widens=True, repeats=True, source="codex/*/help"),
    Option(("-p", "--profile"), "one", "permission", widens=True, source="codex/*/help"),
    Option(("-s", "--sandbox"), "one", "permission", widens=True, excludes=_MODES, source="codex/*/tool"),
    Option(
        ("--full-auto",),
        "none",
        "permission",
        until=(0, 150),
        widens=True,
        excludes=(*_MODES, "-s", "-a"),
        source="codex/*/help",
    ),
    Option(
        ("--dangerously-bypass-approvals-and-sandbox", "--yolo"),
        "none",
        "permission",
        widens=True,
        excludes=(*_MODES, "-s", "-a"),
        source="codex/*/help",
    ),
    Option(("-a", "--ask-for-approval"), "one", "permission", widens=True, excludes=_MODES, source="codex/*/help"),
    Option(
        ("--approve-for-me",),
        "none",
        "permission",
        since=(0, 129),
        widens=True,
        excludes=(*_MODES, "-s", "-a"),
        source="codex/0.171.0/help",
    ),
    Option(
        ("--dangerously-bypass-hook-trust",),
        "none",
        "permission",
        since=(0, 129),
        widens=True,
        source="codex/0.171.0/help",
    ),
    Option(("--trust",), "none", "permission", since=(0, 151), widens=True, source="codex/0.171.0/help-exec"),
    Option(
        ("--skip-git-repo-check",),
        "none",
        "permission",
        widens=True,
        source="codex/*/help-exec",
    ),
    Option(("--ignore-rules",), "none", "permission", since=(0, 118), widens=True, source="codex/*/help-exec"),
    Option(("--ignore-user-config",), "none", "permission", since=(0, 118), widens=True, source="codex/*/help-exec"),
    Option(("--strict-config",), "none", since=(0, 129), source="codex/0.171.0/help"),
    Option(("--add-dir",), "one", since=(0, 54), widens=True, repeats=True, source="codex/*/help"),
    Option(
        ("--cyber-access-program",), "one", "permission", since=(0, 151), widens=True, source="codex/0.171.0/help-exec"
    ),
    Option(("--remote",), "one", "store", since=(0, 99), widens=True, source="codex/*/help"),
    Option(("--remote-auth-token-env",), "one", "permission", since=(0, 99), widens=True, source="codex/*/help"),
    Option(("--search",), "none", "permission", widens=True, source="codex/*/help"),
    Option(("--oss",), "none", "model", source="codex/*/help"),
    Option(("--local-provider",), "one", "model", since=(0, 54), source="codex/*/help"),
    # Clap gives it every following word, subcommand and all; `--image=FILE` takes one.
    Option(("-i", "--image"), "many", "attachment", widens=True, source="codex/*/help"),
    Option(("--output-last-message",), "one", widens=True, excludes=("-o",), source="codex/*/help-exec"),
    Option(("-o",), "one", since=(0, 45), widens=True, excludes=("--output-last-message",), source="codex/*/help-exec"),
    Option(("--output-schema",), "one", since=(0, 37), widens=True, source="codex/*/help-exec"),
    Option(("--thread-source",), "one", since=(0, 129), source="codex/0.171.0/help-exec"),
    Option(("--include-plan-tool",), "none", since=(0, 37), until=(0, 53), source="codex/*/help-exec"),
    Option(("--no-alt-screen",), "none", since=(0, 80), source="codex/*/help"),
    Option(("--no-daemon",), "none", "interactive", since=(0, 151), source="codex/0.171.0/interactive-resume"),
    Option(("--ephemeral",), "none", "no_session", since=(0, 99), source="codex/*/help-exec"),
    Option(("--json", "--experimental-json"), "none", "format", source="codex/*/pty"),
    Option(("--color",), "one", "format", source="codex/*/help-exec"),
    Option(("-C", "--cd"), "one", "directory", source="codex/*/help"),
    Option(("--last",), "none", "selector", source="codex/*/continue"),
    Option(("--all",), "none", "selector", since=(0, 54), source="codex/*/help-resume"),
    Option(("--include-non-interactive",), "none", "selector", since=(0, 99), source="codex/*/help-resume"),
    # It works in a work tree that codex makes, on a branch that is not the run's.
    Option(("--worktree",), "none", "exit", since=(0, 151), source="codex/0.171.0/help"),
    Option(("-h", "--help"), "none", "exit", source="codex/*/help"),
    Option(("-V", "--version"), "none", "exit", source="codex/*/help"),
)
