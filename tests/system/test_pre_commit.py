"""Real engines started by real pre-commit, from every stage, in a linked work tree with staged and unstaged changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_fixtures.engines import NEWEST, Pin
from support.pre_commit import PreCommit, of_now, run, shared
from support.waiting import until
from system.support import World, succeeded

# What a person does, in the linked work tree, so that git comes to this stage.
STAGES: dict[str, tuple[tuple[str, ...], ...]] = {
    "pre-commit": (("commit", "-q", "-m", "mine"),),
    "prepare-commit-msg": (("commit", "-q", "-m", "mine"),),
    "commit-msg": (("commit", "-q", "-m", "mine"),),
    "post-commit": (("commit", "-q", "-m", "mine"),),
    "post-rewrite": (("commit", "-q", "--amend", "--no-edit"),),
    "pre-push": (("push", "-q", "upstream", "side"),),
    "post-checkout": (("checkout", "-q", "--detach", "theirs"),),
    "post-merge": (("merge", "-q", "--no-ff", "theirs"),),
    "pre-merge-commit": (("merge", "-q", "--no-ff", "theirs"),),
    "pre-rebase": (("rebase", "-q", "--autostash", "theirs"),),
}
MERGING = ("pre-merge-commit", "post-merge")  # git merges nothing into an index with changes
CASES = [(stage, NEWEST[number % len(NEWEST)]) for number, stage in enumerate(STAGES)]
LEFT = "changed, and not staged\n"


@pytest.fixture(scope="session")
def release_of_now(tmp_path_factory: pytest.TempPathFactory) -> PreCommit:
    return of_now(shared(tmp_path_factory))


def _tree(world: World, pre_commit: PreCommit, stage: str) -> Path:
    """A linked work tree on `side`, with a staged file, an unstaged change and an untracked file."""
    args = f"[-e, {world.pin.engine}, --prompt, MK1 look at this]"
    hook = f"{{id: git-agent-run, stages: [{stage}], always_run: true, args: {args}}}"
    world.commit("begin", kept="kept\n", config=pre_commit.config(hook))
    world.git("mv", "config", ".pre-commit-config.yaml")
    world.git("commit", "-q", "-m", "configure pre-commit")
    world.git("branch", "theirs")
    world.git("clone", "-q", "--bare", str(world.repo), str(world.repo.parent / "upstream"))
    world.git("remote", "add", "upstream", str(world.repo.parent / "upstream"))
    tree = world.repo.parent / "linked tree"
    world.git("worktree", "add", "-q", "-b", "side", str(tree))
    world.git("switch", "-q", "theirs")
    world.commit("theirs", theirs="theirs\n")
    world.home.env["PRE_COMMIT_HOME"] = str(pre_commit.home)
    run(tree, world.home.env, "install", "--hook-type", stage)
    for name, text in (("staged", "staged\n"), ("kept", LEFT), ("untracked", "untracked\n")):
        (tree / name).write_text(text)
    if stage not in MERGING:
        succeeded(world.run("git", "add", "staged", cwd=tree))
    return tree


@pytest.mark.parametrize(
    ("stage", "pin"), CASES, ids=[f"{stage}-{pin.engine}" for stage, pin in CASES], scope="session"
)
def test_a_run_from_each_stage(world: World, pin: Pin, stage: str, release_of_now: PreCommit) -> None:
    """The person's staged and unstaged content is byte for byte what it was. pre-commit has put the unstaged change
    aside meanwhile, so the agent goes on in the background.
    """
    tree = _tree(world, release_of_now, stage)
    for words in STAGES[stage]:
        succeeded(world.run("git", *words, cwd=tree))
    _completed(world, tree)
    # The newest request may be opencode's for a title.
    assert any(one.users[-1].head.startswith("MK1 look at this") for one in world.requests() if one.users)
    told = succeeded(world.run("git", "status", "--porcelain", cwd=tree)).out.splitlines()
    committed = any(words[0] == "commit" for words in STAGES[stage])
    left = [] if committed else ["?? staged" if stage in MERGING else "A  staged"]
    assert sorted(told) == sorted([" M kept", *left, "?? untracked"])
    assert (tree / "staged").read_text() == "staged\n"
    if stage not in MERGING:
        where = "HEAD" if committed else ""
        assert succeeded(world.run("git", "show", f"{where}:staged", cwd=tree)).out == "staged\n"
    assert (tree / "kept").read_text() == LEFT
    assert (tree / "untracked").read_text() == "untracked\n"
    assert world.git("status", "--porcelain") == ""


def _completed(world: World, tree: Path) -> str:
    """The handle of the run, once its attempt has completed."""

    def run() -> str | None:
        found = json.loads(succeeded(world.agent("list", "--json", "--all", cwd=tree)).out)["runs"]
        return next((one["handle"] for one in found if one["status"] == "completed"), None)

    return until(run, "the run completes") or ""


@pytest.mark.parametrize("pin", NEWEST[:1], ids=str, scope="session")
def test_an_agent_that_is_asked_to_change_files_hands_back_a_patch(world: World, release_of_now: PreCommit) -> None:
    """Faults of agents in hooks F4: nothing of the person's is changed, and the commit is made."""
    tree = _tree(world, release_of_now, "pre-commit")
    config = tree / ".pre-commit-config.yaml"
    config.write_text(config.read_text().replace("MK1 look at this", "MK1 WRITEFILE staged"))
    world.git("config", f"agent.{world.pin.engine}.args", "--sandbox workspace-write")
    succeeded(world.run("git", "add", ".pre-commit-config.yaml", cwd=tree))
    succeeded(world.run("git", "commit", "-q", "-m", "mine", cwd=tree))
    patch = world.repo / f".git/agent/patches/{_completed(world, tree)}.patch"
    until(patch.exists, "the patch is saved")
    assert "+written-by-the-agent" in patch.read_text()
    assert succeeded(world.run("git", "show", "HEAD:staged", cwd=tree)).out == "staged\n"
    assert (tree / "staged").read_text() == "staged\n"
    assert (tree / "kept").read_text() == LEFT
    succeeded(world.run("git", "apply", "--3way", str(patch), cwd=tree))
    assert (tree / "staged").read_text() == "written-by-the-agent\n"
