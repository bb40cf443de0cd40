"""Codex's launch flags, and the versions that have them."""

from __future__ import annotations

from git_agent_runner.engines.spec import Option

_HELP = "codex/*/18z-prompt-help"

# clap refuses any two of these beside each other ("cannot be used with", 0.65.0 and 0.171.0), but for --sandbox beside
# --yolo or --full-auto: there it is silently void.
_MODES = ("--full-auto", "--yolo", "--approve-for-me")

OPTIONS = (
    Option(("-m", "--model"), "one", "model", source="codex/*/12-m-before"),
    Option(("-c", "--config"), "one", widens=True, repeats=True, source="codex/*/12-c-sandbox-before"),
    Option(("--enable",), "one", since=(0, 45), widens=True, repeats=True, source="codex/*/12-enable-before"),
    Option(("--disable",), "one", since=(0, 45), widens=True, repeats=True, source=_HELP),
    Option(("-p", "--profile"), "one", "permission", widens=True, source="codex/*/12-profile-before"),
    Option(("-s", "--sandbox"), "one", "permission", widens=True, excludes=_MODES, source="codex/*/12-sandbox-before"),
    Option(
        ("--full-auto",),
        "none",
        "permission",
        until=(0, 150),
        widens=True,
        excludes=(*_MODES, "-s", "-a"),
        source="codex/*/12-full-auto-before",
    ),
    Option(
        ("--dangerously-bypass-approvals-and-sandbox", "--yolo"),
        "none",
        "permission",
        widens=True,
        excludes=(*_MODES, "-s", "-a"),
        source="codex/*/12-yolo-before",
    ),
    Option(("-a", "--ask-for-approval"), "one", "permission", widens=True, excludes=_MODES, source="codex --help"),
    Option(
        ("--approve-for-me",),
        "none",
        "permission",
        since=(0, 129),
        widens=True,
        excludes=(*_MODES, "-s", "-a"),
        source=_HELP,
    ),
    Option(("--dangerously-bypass-hook-trust",), "none", "permission", since=(0, 129), widens=True, source=_HELP),
    Option(("--trust",), "none", "permission", since=(0, 151), widens=True, source=_HELP),
    Option(
        ("--skip-git-repo-check",),
        "none",
        "permission",
        widens=True,
        source="codex/*/09c-resume-outside-git-skip-before",
    ),
    Option(("--ignore-rules",), "none", "permission", since=(0, 118), widens=True, source=_HELP),
    Option(("--ignore-user-config",), "none", "permission", since=(0, 118), widens=True, source=_HELP),
    Option(("--strict-config",), "none", since=(0, 129), source=_HELP),
    Option(("--add-dir",), "one", since=(0, 54), widens=True, repeats=True, source="codex/*/12-add-dir-before"),
    Option(("--cyber-access-program",), "one", "permission", since=(0, 151), widens=True, source=_HELP),
    Option(("--remote",), "one", "store", since=(0, 99), widens=True, source=_HELP),
    Option(("--remote-auth-token-env",), "one", "permission", since=(0, 99), widens=True, source=_HELP),
    Option(("--search",), "none", "permission", widens=True, source="codex --help"),
    Option(("--oss",), "none", "model", source="codex/*/12-oss-before"),
    Option(("--local-provider",), "one", "model", since=(0, 54), source=_HELP),
    # Clap gives it every following word, subcommand and all (12-image-before); `--image=FILE` takes one.
    Option(("-i", "--image"), "many", "attachment", widens=True, source="codex/*/12-image-eq-before"),
    Option(("--output-last-message",), "one", widens=True, excludes=("-o",), source="codex/*/12-o-before"),
    Option(
        ("-o",), "one", since=(0, 45), widens=True, excludes=("--output-last-message",), source="codex/*/12-o-before"
    ),
    Option(("--output-schema",), "one", since=(0, 37), widens=True, source="codex/*/12-output-schema-before"),
    Option(("--thread-source",), "one", since=(0, 129), source=_HELP),
    Option(("--include-plan-tool",), "none", since=(0, 37), until=(0, 53), source=_HELP),
    Option(("--no-alt-screen",), "none", since=(0, 80), source="codex --help"),
    Option(("--no-daemon",), "none", "interactive", since=(0, 151), source="codex/0.171.0/interactive-resume"),
    Option(("--ephemeral",), "none", "no_session", since=(0, 99), source="codex/*/21c-ephemeral-resume"),
    Option(("--json", "--experimental-json"), "none", "format", source="codex/*/03-start-experimental-json"),
    Option(("--color",), "one", "format", source="codex/*/12-color-before"),
    Option(("-C", "--cd"), "one", "directory", source="codex/*/09e-resume-C-before"),
    Option(("--last",), "none", "selector", source="codex/*/10a-last"),
    Option(("--all",), "none", "selector", since=(0, 54), source="codex/*/10c-last-all-other-cwd"),
    Option(("--include-non-interactive",), "none", "selector", since=(0, 99), source="codex resume --help"),
    # It works in a work tree that codex makes, on a branch that is not the run's.
    Option(("--worktree",), "none", "exit", since=(0, 151), source=_HELP),
    Option(("-h", "--help"), "none", "exit", source=_HELP),
    Option(("-V", "--version"), "none", "exit", source=_HELP),
)
