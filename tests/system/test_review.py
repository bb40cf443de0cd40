"""A real engine as reviewer: it blocks what it was shown, and writes nothing, however hard its model tries."""

from __future__ import annotations

import json

import pytest

from git_agent_runner.engines.spec import parse_version
from git_agent_runner.review.power import POWERS
from system.support import BIN, World, succeeded

_OPENCODE: dict[str, object] = {
    "permission": {"edit": "allow", "bash": "allow"},
    "agent": {"plan": {"permission": {"edit": "allow", "bash": "allow"}}},
}
# What a repository would say to let an agent of each engine do more.
_SETTINGS: dict[str, object] = {
    ".gemini/settings.json": {"tools": {"allowed": ["run_shell_command", "write_file"]}},
    "opencode.json": _OPENCODE,
}


def steer(world: World) -> None:
    """Commit settings of all engines that widen."""
    hook = {"hooks": [{"type": "command", "command": f"touch {world.repo}/hooked"}]}
    rights = {"allow": ["Bash", "Write"], "defaultMode": "bypassPermissions"}
    claude = {"permissions": rights, "hooks": {"SessionStart": [hook]}}
    files = {name: json.dumps(value) for name, value in (*_SETTINGS.items(), (".claude/settings.json", claude))}
    for name, text in {**files, ".codex/config.toml": 'sandbox_mode = "danger-full-access"\n'}.items():
        (world.repo / name).parent.mkdir(exist_ok=True)
        (world.repo / name).write_text(text)
    world.commit("steer")


def allow_at_home(world: World) -> None:
    """Settings of the person's own by which agents that do work may do all."""
    root = world.home.root
    wide: dict[str, dict[str, object]] = {
        ".claude/settings.json": {"permissions": {"allow": ["Bash", "Write"], "defaultMode": "bypassPermissions"}},
        ".gemini/settings.json": {"tools": {"allowed": ["run_shell_command", "write_file"]}},
        ".config/opencode/opencode.json": _OPENCODE,
    }
    for name, more in wide.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**(json.loads(file.read_text()) if file.exists() else {}), **more}))
    codex = root / ".codex/config.toml"
    codex.parent.mkdir(exist_ok=True)
    codex.write_text('sandbox_mode = "danger-full-access"\n' + (codex.read_text() if codex.exists() else ""))


def test_a_reviewer_reads_and_cannot_write(world: World) -> None:
    """The scripted model writes first, whether it is offered a tool or not, and all settings allow it: those of the
    repository, and the person's own. Its verdict is on what it was shown.
    """
    engine = world.pin.engine
    steer(world)
    allow_at_home(world)
    (world.repo / "f").write_text(f"PLANTED REVIEWS WRITETO {world.repo}/readme\n")
    world.git("add", "f")
    (world.repo / "f").write_text("typed since\n")
    before = world.git("status", "--porcelain")
    done = world.agent("review", "-e", engine, "--json", "--on-error", "fail")
    (review,) = json.loads(done.out)["reviews"]
    known, version = POWERS.get(engine), parse_version(world.pin.version)
    if known is None or version is None or version < known.since:
        assert (done.status, review["error"]["code"], world.requests()) == (3, "no_read_only", ())
        return
    assert (done.status, review["verdict"]) == (1, "block"), done
    assert [found["text"] for found in review["findings"]] == ["planted"]
    tried = [entry.tool_results for entry in world.requests() if len(entry.tool_results) >= 2]
    assert tried, "the model was not let try"
    assert (world.repo / "readme").read_text() == "scratch\n"
    assert world.git("status", "--porcelain") == before  # no file of a hook's, either
    assert world.git("worktree", "list").count("\n") == 0
    asked = len(world.requests())
    assert world.agent("review", "-e", engine).status == 1
    assert len(world.requests()) == asked
    (world.repo / "f").write_text("REVIEWS fixed\n")
    world.git("add", "f")
    succeeded(world.agent("review", "-e", engine, "--json", "--on-error", "fail"))
    newest = world.requests()[-1]
    assert len(newest.users) > 1
    assert json.loads(world.agent("status", "--json").out)["error"]["code"] == "no_run"


_CLEAN, _BAD = "REVIEWS clean\n", "PLANTED REVIEWS\n"
# What the person does; what is in f and other, staged and not; does the commit hold the planted line?
_WAYS: list[tuple[tuple[str, ...], dict[str, str], dict[str, str], bool]] = [
    (("-a",), {"other": _CLEAN}, {"f": _BAD}, True),
    (("f",), {"other": _CLEAN}, {"f": _BAD}, True),
    (("f",), {"other": _BAD}, {"f": _CLEAN}, False),
    (("-p",), {}, {"f": _BAD}, True),
    (("--amend",), {"f": _BAD}, {}, True),
    (("--amend",), {"f": _CLEAN}, {"other": _BAD}, False),
]


@pytest.mark.long_matrix(16)
def test_a_reviewer_in_a_hook_is_shown_what_git_commits(world: World) -> None:
    """Agents in hooks, done when 2: the model blocks if it was shown the planted line, and only then."""
    hook = world.repo / ".git/hooks/pre-commit"
    words = f"{BIN}/git-agent review -e {world.pin.engine} --fresh --on-error fail"
    hook.write_text(f"#!/bin/sh\nexec {words}\n")
    hook.chmod(0o755)
    known, version = POWERS.get(world.pin.engine), parse_version(world.pin.version)
    if known is None or version is None or version < known.since:
        (world.repo / "f").write_text(_CLEAN)
        world.git("add", "f")
        assert world.run("git", "commit", "-m", "x").status == 1
        assert world.requests() == ()
        return
    for number, (how, staged, left, blocked) in enumerate(_WAYS):
        world.git("commit", "-qn", "--allow-empty", "-m", "begin")
        for name in ("f", "other"):
            (world.repo / name).write_text(f"begun {number}\n")
        world.git("add", "-A")
        world.git("commit", "-qnm", "begun")
        for name, text in staged.items():
            (world.repo / name).write_text(f"{text}{number}\n")
            world.git("add", name)
        for name, text in left.items():
            (world.repo / name).write_text(f"{text}{number}\n")
        done = world.run("git", "commit", "-m", "x", *how, stdin="y\n" * 4)
        assert (done.status != 0, "block: " in done.err + done.out) == (blocked, blocked), (how, done)
        world.git("reset", "-q", "--hard")
    _merge_and_first_commit(world)


def _merge_and_first_commit(world: World) -> None:
    world.git("switch", "-qc", "side", "HEAD~1")
    (world.repo / "side").write_text(_BAD)
    world.git("add", "-A")
    world.git("commit", "-qnm", "side")
    world.git("switch", "-q", "-")
    world.git("merge", "-q", "--no-commit", "--no-ff", "side")
    assert "block: " in world.run("git", "commit", "-m", "merge").err
    world.git("merge", "--abort")
    world.git("switch", "-q", "--orphan", "first")
    (world.repo / "f").write_text(f"{_BAD}first\n")
    world.git("add", "f")
    assert "block: " in world.run("git", "commit", "-m", "first").err
