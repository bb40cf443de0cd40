"""Notes on real commits: many writers, and rewritten history."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from git_agent_runner.store import notes
from git_agent_runner.store.notes import writing
from support.gitrepo import GitRepo, make
from support.noted import REF, handles, line, noted, raw, record


def test_write_and_read_back(repo: GitRepo) -> None:
    facts = repo.facts()
    assert notes.read(facts) == notes.Notes({}, ())
    assert not notes.exists(facts)
    writing.write(facts, facts.head, record())
    assert raw(repo) == notes.render(record()) + "\n"
    assert notes.exists(facts)
    head = repo.head()
    assert notes.read(facts).by_commit == {head: tuple(notes.parse(raw(repo), head)[0])}
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/notes") == REF


@pytest.mark.parametrize(
    "other", ["", "by hand  \n\n\n\t\n- {broken\r\n", "no line break at the end", "\u2028\x0b\n\n"]
)
def test_other_lines_stay_byte_for_byte(repo: GitRepo, other: str) -> None:
    noted(repo, other or "\n")
    before = raw(repo)
    facts = repo.facts()
    for attempt in (1, 2):
        changed = record(updated_at=f"2026-11-27T10:15:0{attempt}Z")
        writing.write(facts, facts.head, changed)
        whole = before if before.endswith("\n") else f"{before}\n"
        assert raw(repo) == whole + notes.render(changed) + "\n"


def test_own_line_is_replaced_where_it_stands(repo: GitRepo) -> None:
    noted(repo, f"{line('00000001')}\n{line()}\n{line('00000002')}\n{line()}\n")
    facts = repo.facts()
    writing.write(facts, facts.head, record(host="new"))
    expected = [line("00000001"), notes.render(record(host="new")), line("00000002")]
    assert raw(repo).split("\n")[:-1] == expected


def test_configured_notes_ref_changes_nothing(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("config", "core.notesRef", "refs/notes/other")
    monkeypatch.setenv("GIT_NOTES_REF", "refs/notes/third")
    facts = repo.facts()
    writing.write(facts, facts.head, record())
    assert handles(notes.read(facts).by_commit[repo.head()]) == ["7f3a9c21"]
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/notes") == REF


def test_sha256_and_linked_worktree(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", "--object-format=sha256")
    repo.commit("c")
    linked = repo.worktree(tmp_path / "linked", "side")
    head = linked.commit("c2")
    writing.write(linked.facts(), head, record())
    assert handles(notes.read(repo.facts()).by_commit[head]) == ["7f3a9c21"]


def test_write_after_the_work_tree_is_gone(repo: GitRepo, tmp_path: Path) -> None:
    facts = repo.worktree(tmp_path / "linked", "side").facts()
    repo.git("worktree", "remove", str(tmp_path / "linked"))
    writing.write(facts, facts.head, record())
    assert handles(notes.read(repo.facts()).by_commit[repo.head()]) == ["7f3a9c21"]


def test_nearest_is_the_first_commit_with_a_wanted_run(repo: GitRepo) -> None:
    facts, parent = repo.facts(), repo.git("rev-parse", "HEAD~1")
    writing.write(facts, facts.head, record(branch="other"))
    writing.write(facts, parent, record("00000001"))
    writing.write(facts, parent, record("00000002", updated_at="2026-11-28T00:00:00.000Z"))
    commits = [repo.head(), parent]
    assert handles(notes.nearest(facts, commits, lambda note: note.branch == "main")) == ["00000002", "00000001"]
    assert handles(notes.nearest(facts, commits, lambda _: True)) == ["7f3a9c21"]
    assert notes.nearest(facts, commits, lambda _: False) == ()


@pytest.mark.parametrize("limit", ["NEAR", "FIRST_BATCH"])
def test_nearest_beyond_the_first_ones(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(notes, limit, 1)
    facts, parent = repo.facts(), repo.git("rev-parse", "HEAD~1")
    writing.write(facts, facts.head, record(branch="other"))
    writing.write(facts, parent, record("00000001"))
    found = notes.nearest(facts, [repo.head(), parent], lambda note: note.branch == "main")
    assert handles(found) == ["00000001"]


def test_small_batches_read_the_same(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "BATCH_LIMIT", 1)
    facts, parent = repo.facts(), repo.git("rev-parse", "HEAD~1")
    writing.write(facts, facts.head, record())
    writing.write(facts, parent, record("00000001"))
    assert len(notes.read(facts).by_commit) == 2


def test_note_that_is_too_large_is_named_and_not_read(repo: GitRepo) -> None:
    noted(repo, f"{line()}\n" + "x" * (1 << 20))
    facts = repo.facts()
    found = notes.read(facts)
    assert found == notes.Notes({}, (notes.Wrong(repo.head(), "larger than 1 MiB, not read"),))
    with pytest.raises(writing.NoteFailed, match="larger than 1 MiB"):
        writing.write(facts, facts.head, record())


def test_notes_of_commits_that_are_gone(repo: GitRepo) -> None:
    """After a squash merge and gc most notes hang on commits that nobody has (glassfrog-clipper#71)."""
    facts, lost = repo.facts(), repo.head()
    writing.write(facts, facts.head, record())
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert handles(notes.read(repo.facts()).by_commit[lost]) == ["7f3a9c21"]
    repo.git("notes", f"--ref={REF}", "prune")
    assert notes.read(repo.facts()).by_commit == {}


def test_flat_and_fanned_out_entries_of_one_commit(repo: GitRepo) -> None:
    head = repo.head()
    blobs = [repo.git("hash-object", "-w", "--stdin", stdin=f"{line(name)}\n") for name in ("00000001", "00000002")]
    tree = repo.git("mktree", stdin=f"100644 blob {blobs[0]}\t{head[2:]}\n")
    top = repo.git("mktree", stdin=f"100644 blob {blobs[1]}\t{head}\n040000 tree {tree}\t{head[:2]}\n")
    repo.git("update-ref", REF, repo.git("commit-tree", "-m", "mixed", top))
    assert set(handles(notes.read(repo.facts()).by_commit[head])) == {"00000001", "00000002"}
    assert set(handles(notes.nearest(repo.facts(), [head], lambda _: True))) == {"00000001", "00000002"}


def test_nearest_in_a_tree_of_folders_in_folders(repo: GitRepo) -> None:
    head = repo.head()
    blob = repo.git("hash-object", "-w", "--stdin", stdin=f"{line()}\n")
    inner = repo.git("mktree", stdin=f"100644 blob {blob}\t{head[4:]}\n")
    outer = repo.git("mktree", stdin=f"040000 tree {inner}\t{head[2:4]}\n")
    top = repo.git("mktree", stdin=f"040000 tree {outer}\t{head[:2]}\n")
    repo.git("update-ref", REF, repo.git("commit-tree", "-m", "many", top))
    assert handles(notes.nearest(repo.facts(), [head], lambda _: True)) == ["7f3a9c21"]


def test_entries_that_are_no_notes_are_passed_over(repo: GitRepo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=f"{line()}\n")
    tree = repo.git("mktree", stdin=f"100644 blob {blob}\tREADME\n")
    repo.git("update-ref", REF, repo.git("commit-tree", "-m", "foreign", tree))
    assert notes.read(repo.facts()) == notes.Notes({}, ())


def test_without_a_commit(empty_repo: GitRepo) -> None:
    facts = empty_repo.facts()
    with pytest.raises(writing.NoteFailed) as caught:
        writing.write(facts, facts.head, record())
    assert caught.value.message == "the note could not be written: there is no commit yet"


def test_without_an_identity(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = repo.facts()
    repo.git("config", "user.useConfigOnly", "true")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    before = (repo.path / ".git/config").read_text()
    with pytest.raises(writing.NoteFailed) as caught:
        writing.write(facts, facts.head, record())
    assert caught.value.reason == "git does not know who you are; set user.name and user.email"
    assert (repo.path / ".git/config").read_text() == before


def test_record_that_no_reader_would_take(repo: GitRepo) -> None:
    facts = repo.facts()
    with pytest.raises(writing.NoteFailed, match="too long"):
        writing.write(facts, facts.head, record(branch="x" * (64 << 10)))
    assert not notes.exists(facts)


def test_locked_ref_is_tried_again_and_then_named(repo: GitRepo) -> None:
    facts = repo.facts()
    lock = repo.path / ".git/refs/notes/agent.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    pauses: list[float] = []
    with pytest.raises(writing.NoteFailed, match=r"refs/notes/agent cannot be updated: .*agent.lock"):
        writing.write(facts, facts.head, record(), sleep=pauses.append)
    assert len(pauses) == len(writing.PAUSES)
    lock.unlink()
    writing.write(facts, facts.head, record())
    assert raw(repo) == notes.render(record()) + "\n"


def test_writer_that_does_not_know_our_lock_loses_nothing(repo: GitRepo) -> None:
    """The other program moves the ref between our look at it and our swap: the swap fails and we start again."""
    facts = repo.facts()
    attempts: list[str] = []
    put = writing.put

    def interrupted(*args: Any) -> None:
        put(*args)
        if not attempts:
            repo.git("notes", f"--ref={REF}", "add", "-m", "by hand", "HEAD~1")
        attempts.append(args[1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "put", interrupted)
        writing.write(facts, facts.head, record(), sleep=lambda _: None)
    assert len(attempts) == 2
    assert (raw(repo, "HEAD~1"), raw(repo)) == ("by hand\n", notes.render(record()) + "\n")


WRITER = """
import os, sys
from git_agent_runner.git import discover
from git_agent_runner.core.model import Record
from git_agent_runner.store.notes import writing
handle, commit = sys.argv[1:]
run = f"20261127T101502Z-codex-{handle}"
facts = discover(os.getcwd(), os.environ)
noted = Record(handle, run, run, "codex", updated_at="2026-11-27T10:15:02Z")
writing.write(facts, commit or facts.head, noted, wait=600.0)
"""


@pytest.mark.parametrize("commits", [1, 20])
def test_twenty_writers_at_once(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, commits: int) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    targets = [repo.commit(f"n{number}") for number in range(commits)]
    wanted = [f"{number:08x}" for number in range(20)]
    running = [
        subprocess.Popen((sys.executable, "-c", WRITER, handle, targets[number % commits]), cwd=repo.path)
        for number, handle in enumerate(wanted)
    ]
    assert [process.wait() for process in running] == [0] * 20
    found = notes.read(repo.facts()).by_commit.values()
    assert sorted(handle for runs in found for handle in handles(runs)) == wanted


def test_configuration_is_added_once_and_keeps_the_persons_own(repo: GitRepo) -> None:
    repo.git("config", "notes.rewriteRef", "refs/notes/mine")
    facts = repo.facts()
    assert notes.ensure_config(facts)
    assert not notes.ensure_config(facts)
    assert repo.git("config", "--get-all", "notes.rewriteRef").split("\n") == ["refs/notes/mine", REF]
    assert repo.git("config", "--get-all", "notes.agent.mergeStrategy") == "cat_sort_uniq"
    assert notes.show_notes(facts)
    assert not notes.show_notes(facts)
    assert repo.git("config", "--get-all", "notes.displayRef") == REF


def test_pattern_of_the_person_that_covers_our_ref_is_enough(repo: GitRepo) -> None:
    repo.git("config", "notes.rewriteRef", "refs/notes/*")
    assert notes.ensure_config(repo.facts())
    assert repo.git("config", "--get-all", "notes.rewriteRef") == "refs/notes/*"


@pytest.mark.parametrize(
    ("rewrite", "sequence", "expected"),
    [
        pytest.param(["commit", "-q", "--amend", "-m", "new"], "", {"00000002"}, id="amend"),
        pytest.param(["rebase", "-q", "side"], "", {"00000002"}, id="rebase"),
        pytest.param(["rebase", "-q", "-i", "main~2"], "2s/pick/squash/", {"00000001", "00000002"}, id="squash"),
        pytest.param(["rebase", "-q", "-i", "main~2"], "2s/pick/fixup/", {"00000001", "00000002"}, id="fixup"),
    ],
)
def test_rewritten_history_keeps_its_runs(repo: GitRepo, rewrite: list[str], sequence: str, expected: set[str]) -> None:
    repo.git("branch", "side", repo.git("commit-tree", "-m", "side", "-p", "HEAD~1", "HEAD~1^{tree}"))
    old = {repo.commit("n1", g="1\n"): "00000001", repo.commit("n2", g="2\n"): "00000002"}
    facts = repo.facts()
    notes.ensure_config(facts)
    for commit, handle in old.items():
        writing.write(facts, commit, record(handle))
    repo.git(*rewrite, env={"GIT_SEQUENCE_EDITOR": f"sed -i '{sequence}'", "GIT_COMMITTER_DATE": "1800000000 +0000"})
    assert repo.head() not in old
    found, problems = notes.parse(raw(repo))
    assert (set(handles(found)), problems) == (expected, [])
    assert len(YAML(typ="safe").load(raw(repo))) == len(expected)


@pytest.mark.parametrize("strategy", ["union", "cat_sort_uniq"])
def test_merged_notes_stay_readable(repo: GitRepo, strategy: str) -> None:
    facts = repo.facts()
    writing.write(facts, facts.head, record("00000001"))
    repo.git("update-ref", "refs/notes/remote", REF)
    repo.git("notes", "--ref=refs/notes/remote", "append", "-m", line("00000002"))
    writing.write(facts, facts.head, record("00000003"))
    repo.git("notes", f"--ref={REF}", "merge", "-q", "-s", strategy, "refs/notes/remote")
    found, problems = notes.parse(raw(repo))
    assert (set(handles(found)), problems) == ({"00000001", "00000002", "00000003"}, [])
    assert len(YAML(typ="safe").load(raw(repo))) >= 3
