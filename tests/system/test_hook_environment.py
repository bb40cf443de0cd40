"""Started from a git hook, an engine sees nothing of the hook's repository variables, nor touches its index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_agent_fixtures.engines import pinned
from system.support import ALLOW, World, succeeded

WITNESS = pinned("opencode")
SEEN = re.compile(r"^(GIT_(?:DIR|INDEX_FILE|WORK_TREE|PREFIX|COMMON_DIR|OBJECT_DIRECTORY))=", re.MULTILINE)


@pytest.mark.parametrize("pin", [WITNESS], ids=str, scope="session")
def test_the_witness_rewrites_the_index_that_such_variables_name(world: World) -> None:
    """So the tests below can fail: run directly, opencode stages what nobody staged; run by us, it does not."""
    hooked = _as_in_a_hook(world)
    untouched = _index(world)
    succeeded(hooked.run(str(world.binary), "run", "--format", "json", stdin="MK1 TOOLCALL"))
    assert _index(world) != untouched
    world.git("read-tree", "HEAD")
    assert _index(world) == untouched
    hooked.start("MK2 TOOLCALL")
    assert _index(world) == untouched


@pytest.mark.engine_independent
def test_an_engine_sees_no_variable_of_the_repository_around_it(world: World, tmp_path: Path) -> None:
    seen = _reported_by_the_tool(world, tmp_path)
    hooked = _as_in_a_hook(world)
    untouched = _index(world)
    hooked.start("MK1 SLOWTOOL", *ALLOW[world.pin.engine])
    _assert_clean(seen)
    hooked.resume("MK2 SLOWTOOL and go on")
    world.carried("MK1", "MK2")
    _assert_clean(seen)
    assert _index(world) == untouched


@pytest.mark.engine_independent
def test_a_hook_of_a_linked_worktree_starts_an_engine_in_it(world: World, tmp_path: Path) -> None:
    """`git commit -a` gives its hooks a temporary index; the engine works in the worktree, on the worktree's branch."""
    seen = _reported_by_the_tool(world, tmp_path)
    tree = tmp_path / "linked"
    world.git("worktree", "add", "-q", "-b", "side", str(tree))
    start = f"git agent start -e {world.pin.engine} 'MK1 SLOWTOOL' -- {' '.join(ALLOW[world.pin.engine])}"
    hook = world.repo / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nenv >'{tmp_path}/hook'\n{start} >'{tmp_path}/out' 2>&1 || cat '{tmp_path}/out'\n")
    hook.chmod(0o755)
    (tree / "readme").write_text("changed\n")
    (tree / "untracked").write_text("not yet\n")
    done = succeeded(world.run("git", "commit", "-q", "-a", "-m", "change", cwd=tree))
    hook.unlink()
    assert set(SEEN.findall((tmp_path / "hook").read_text())) >= {"GIT_DIR", "GIT_INDEX_FILE"}
    assert done.out + done.err == ""
    _assert_clean(seen)
    assert succeeded(world.run("git", "status", "--porcelain", cwd=tree)).out == "?? untracked\n"
    assert world.git("status", "--porcelain") == ""
    done = succeeded(world.agent("resume", "MK2 and go on", cwd=tree))
    world.carried("MK1", "MK2")
    facts = world.facts(done.err.partition("handle    ")[2][:8])
    assert (facts["branch"], facts["cwd"]) == ("side", str(tree.resolve()))


def _as_in_a_hook(world: World) -> World:
    """The world with the variables set, and something in its work tree that a careless `git add` would stage."""
    (world.repo / "readme").write_text("changed\n")
    (world.repo / "untracked").write_text("not yet\n")
    git_dir = str(world.repo / ".git")
    variables = {"GIT_DIR": git_dir, "GIT_INDEX_FILE": f"{git_dir}/index", "GIT_WORK_TREE": str(world.repo)}
    return world._replace(home=world.home._replace(env={**world.home.env, **variables}))


def _index(world: World) -> str:
    return world.git("ls-files", "--stage")


def _reported_by_the_tool(world: World, tmp_path: Path) -> Path:
    """Where the tool's environment will be: the slow tool's `sleep` writes it down, and returns at once."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sleep").write_text('#!/bin/sh\nenv >"$TMPDIR/seen"\n')
    (tools / "sleep").chmod(0o755)
    world.home.env["PATH"] = f"{tools}:{world.home.env['PATH']}"
    (world.home.root / ".bash_profile").write_text(f"PATH={tools}:$PATH\n")  # codex may ask a login shell
    return Path(world.home.env["TMPDIR"]) / "seen"


def _assert_clean(seen: Path) -> None:
    text = seen.read_text()
    seen.unlink()
    assert "GIT_AGENT_HANDLE=" in text
    assert SEEN.findall(text) == []
