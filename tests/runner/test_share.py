"""`git agent push --sessions` and `fetch --sessions`: conversations as refs of a bare repository between two clones."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.conversation import formats
from support.cli import Cli
from support.gitrepo import GitRepo
from support.machines import Machine, two

KEY = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWx"


@pytest.fixture
def pair(cli: Cli, tmp_path: Path) -> tuple[Machine, Machine]:
    return two(cli, tmp_path)


@pytest.fixture
def bare(pair: tuple[Machine, Machine], tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "bare")


def results(machine: Machine, *words: str) -> dict[str, str]:
    """What came of each conversation."""
    found = machine.run(*words, "--json").json["conversations"]
    return {one["handle"]: one["result"] for one in found}


def ref(handle: str) -> str:
    return f"refs/agent/sessions/{handle}"


def count(bare: GitRepo, handle: str, what: str) -> int:
    """Commits, or pieces, of what the remote has."""
    words = ("rev-list", "--count", ref(handle)) if what == "commits" else ("ls-tree", "--name-only", ref(handle))
    told = bare.git(*words)
    return int(told) if what == "commits" else len(told.split()) - 1


@pytest.mark.parametrize("engine", [engine for engine in formats.KNOWN if engine != "qwen"])
def test_a_conversation_that_grew_adds_one_piece(pair: tuple[Machine, Machine], bare: GitRepo, engine: str) -> None:
    one, _ = pair
    handle = one.begin(engine)
    assert results(one, "push", "--sessions", "--yes") == {handle: "pushed"}
    before = bare.git("ls-tree", "--name-only", ref(handle)).split()
    assert results(one, "push", "--sessions") == {handle: "same"}, "a later push of what was seen asks nothing"
    one.moved_on("two")
    assert results(one, "push", "--sessions") == {handle: "pushed"}
    after = bare.git("ls-tree", "--name-only", ref(handle)).split()
    assert (count(bare, handle, "commits"), len(after)) == (2, len(before) + 1)
    if engine in ("claude", "codex"):  # whose files only grow
        assert set(before) <= set(after)


def test_links_alone_carry_no_conversation(pair: tuple[Machine, Machine], bare: GitRepo) -> None:
    one, _ = pair
    one.begin()
    one.ok("push")
    assert bare.git("for-each-ref", "refs/agent") == ""


def test_the_first_push_shows_what_a_conversation_holds_and_needs_a_yes(
    pair: tuple[Machine, Machine], bare: GitRepo
) -> None:
    one, _ = pair
    handle = one.ok("start", "-e", "claude", "--json", f"the key is {KEY}").json["handle"]
    refused = one.run("push", "--sessions")
    assert (refused.status, "share_unconfirmed" in one.run("push", "--sessions", "--json").out) == (128, True)
    assert f"run {handle} of branch 'main', claude: 1 turn, " in refused.err
    assert "looks like a secret: 1 token" in refused.err
    assert KEY not in refused.err
    assert bare.git("for-each-ref", "refs/agent", "refs/notes") == ""
    assert refused.lines[-1] == "hint: to push it: git agent push origin --sessions --yes"
    one.ok("push", "origin", "--sessions", "--yes")
    assert bare.git("for-each-ref", "--format=%(refname)", "refs/agent") == ref(handle)


def test_a_secret_that_came_since_is_asked_about_again(pair: tuple[Machine, Machine]) -> None:
    one, _ = pair
    one.begin()
    one.share()
    one.moved_on("harmless")
    one.ok("push", "--sessions")
    one.moved_on(f"and now {KEY}")
    assert "share_unconfirmed" in one.run("push", "--sessions", "--json").out


def test_what_each_side_lacks(pair: tuple[Machine, Machine], bare: GitRepo) -> None:
    one, _ = pair
    handle = one.begin()
    assert results(one, "push", "--sessions", "-n") == {handle: "ahead"}
    assert bare.git("for-each-ref", "refs/agent") == ""
    one.share()
    assert results(one, "push", "--sessions", "-n") == {handle: "same"}


def test_which_branches(pair: tuple[Machine, Machine], bare: GitRepo) -> None:
    one, _ = pair
    none = one.ok("push", "--sessions")
    assert (none.out, "no conversation is pushed: no run found" in none.err) == (
        "fetched 0 runs from origin, pushed 0 runs\n",
        True,
    )
    first = one.begin()
    one.repo.git("switch", "-q", "-c", "other")
    second = one.begin("codex")
    assert results(one, "push", "origin", "main", "--sessions", "--yes") == {first: "pushed"}
    assert results(one, "push", "--sessions", "--yes") == {second: "pushed"}
    one.moved_on("two")
    assert results(one, "push", "--sessions", "--all") == {first: "same", second: "pushed"}
    assert one.run("push", "origin", "main").status == 129
    one.repo.git("config", "agent.share", "sessions")
    assert results(one, "push", "origin", "main") == {first: "same"}


def test_a_fetch_brings_all_and_prunes(pair: tuple[Machine, Machine], bare: GitRepo) -> None:
    one, other = pair
    handle = one.begin()
    one.share()
    assert results(other, "fetch") == {}
    assert results(other, "fetch", "--sessions") == {handle: "fetched"}
    assert results(other, "fetch", "--sessions") == {}
    assert f"conversation of run {handle}: deleted from origin" in one.ok("push", "--delete", handle).out
    assert bare.git("for-each-ref", "refs/agent") == ""
    assert one.run("push", "--delete", handle, "--json").json["error"]["code"] == "unknown_handle"
    assert results(other, "fetch", "--prune") == {handle: "forgotten"}
    assert other.repo.git("for-each-ref", "refs/agent") == ""


def test_a_server_that_takes_no_conversations(pair: tuple[Machine, Machine], bare: GitRepo) -> None:
    """The notes are pushed all the same, and one line says why the conversation was not."""
    one, _ = pair
    handle = one.begin()
    hook = bare.path / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/agent/*) exit 1;; esac\n')
    hook.chmod(0o755)
    done = one.run("push", "--sessions", "--yes")
    assert (done.status, done.out) == (1, "fetched 0 runs from origin, pushed 1 run\n")
    (line,) = (line for line in done.lines if handle in line)
    assert line.startswith(f"warning: conversation of run {handle}: ")
    assert "hook declined" in line


def test_a_shallow_clone_and_a_partial_one(pair: tuple[Machine, Machine], bare: GitRepo, tmp_path: Path) -> None:
    one, _ = pair
    handle = one.begin()
    one.share()
    bare.git("config", "uploadpack.allowFilter", "true")
    for number, word in enumerate(("--depth=1", "--filter=blob:none")):
        path = tmp_path / f"clone {number}"
        one.repo.git("clone", "-q", word, f"file://{bare.path}", str(path))
        clone = Machine(Cli(GitRepo(path), one.cli.home))
        assert results(clone, "fetch", "--sessions") == {handle: "fetched"}
        assert "?" not in clone.repo.git("rev-list", "--objects", "--missing=print", "--glob=refs/agent/*")
