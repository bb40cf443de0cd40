"""Notes on real commits: many writers, rewritten history, and lines that somebody else wrote."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from git_agent_extractors.model import Session
from git_agent_runner import git
from git_agent_runner.model import Note, Record
from git_agent_runner.store import notes
from support.gitrepo import GitRepo, make

REF = "refs/notes/agent"


def record(handle: str = "7f3a9c21", **changes: Any) -> Record:
    run_id = f"20261127T101502Z-codex-{handle}"
    known = Record(
        handle=handle,
        run_id=run_id,
        run_directory=f"agent/runs/{run_id}",
        agent_name="codex",
        session=Session("thread_id", "019a1c2d-0b01-7aaa-8bbb-0123456789ab"),
        launch_args=("--model", "gpt-5"),
        updated_at="2026-11-27T10:15:02.250Z",
        branch="main",
        host="box",
    )
    return known._replace(**changes)


def line(own: str = "7f3a9c21", /, **changes: Any) -> str:
    """A note's line, with some keys replaced; `...` leaves a key out."""
    known = json.loads(notes.render(record(own))[2:])
    return "- " + json.dumps({key: value for key, value in {**known, **changes}.items() if value is not ...})


def noted(repo: GitRepo, text: str, commit: str = "HEAD") -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=text)
    repo.git("notes", f"--ref={REF}", "add", "-f", "-C", blob, commit)


def raw(repo: GitRepo, commit: str = "HEAD") -> str:
    """The bytes of a note."""
    return git.run(("cat-file", "blob", repo.git("notes", f"--ref={REF}", "list", commit)), cwd=str(repo.path)).out


def handles(found: tuple[Note, ...] | list[Note]) -> list[str]:
    return [note.handle for note in found]


def test_line_is_what_the_contract_says() -> None:
    assert notes.render(record()) == (
        '- {"schema": 1, "handle": "7f3a9c21", "runId": "20261127T101502Z-codex-7f3a9c21", "agentName": "codex", '
        '"session": {"field": "thread_id", "value": "019a1c2d-0b01-7aaa-8bbb-0123456789ab"}, "branch": "main", '
        '"launch": {"args": ["--model", "gpt-5"]}, "updatedAt": "2026-11-27T10:15:02.250Z", "host": "box"}'
    )


@pytest.mark.parametrize("branch", ["ü/ñ", "a\u2028b\ufeff\x1b[31m\x85", "x: {y}", "--output=pwn", None])
def test_line_is_yaml_with_the_same_values(branch: str | None) -> None:
    text = notes.render(record(branch=branch))
    assert "\n" not in text
    assert YAML(typ="safe").load(io.StringIO(text)) == [json.loads(text[2:])]
    assert [note.branch for note in notes.parse(text)[0]] == [branch]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(
            ["--model", "gpt-5", "-s", "read-only"], ["--model", "gpt-5", "-s", "read-only"], id="plain values"
        ),
        pytest.param(["--yolo", "--oss"], ["--yolo", "--oss"], id="flags without a value"),
        pytest.param(["-c", "model_reasoning_effort=high"], ["-c", "[redacted]"], id="configuration, whatever it is"),
        pytest.param(
            ["-c", 'http_headers={"Authorization"="Basic dXNlcjpwYXNz"}'], ["-c", "[redacted]"], id="header in TOML"
        ),
        pytest.param(["--image=/home/ann/x.png"], ["--image=[redacted]"], id="path"),
        pytest.param(["--output-schema", "s.json"], ["--output-schema", "[redacted]"], id="any other value"),
        pytest.param(["--api-key", "abc"], ["[redacted]"], id="flag that is not codex's"),
        pytest.param(["sk-proj-0123456789abcdefABCDEF"], ["[redacted]"], id="stray word"),
        pytest.param(["-m", "sk-proj-0123456789abcdefABCDEF"], ["-m", "[redacted]"], id="key in a model's place"),
        pytest.param(["-m", "password is swordfish7"], ["-m", "[redacted]"], id="words in a model's place"),
        pytest.param(["--model"], ["[redacted]"], id="flag without its value"),
    ],
)
def test_secrets_do_not_reach_a_note(args: list[str], expected: list[str]) -> None:
    text = notes.render(record(launch_args=tuple(args)))
    assert json.loads(text[2:])["launch"]["args"] == expected


def test_note_carries_every_field_and_keys_of_a_newer_schema() -> None:
    found, problems = notes.parse(line(schema=2, mood="good"), "c0ffee")
    assert problems == []
    assert found == [
        Note(
            handle="7f3a9c21",
            run_id="20261127T101502Z-codex-7f3a9c21",
            agent_name="codex",
            session=Session("thread_id", "019a1c2d-0b01-7aaa-8bbb-0123456789ab"),
            branch="main",
            launch_args=("--model", "gpt-5"),
            updated_at="2026-11-27T10:15:02.250Z",
            host="box",
            schema=2,
            commit="c0ffee",
            extra={"mood": "good"},
        )
    ]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param("reviewed by me", id="a person's own line"),
        pytest.param(notes.render(record())[2:], id="no sequence mark"),
        pytest.param(notes.render(record())[:-1], id="cut off"),
        pytest.param("- {}", id="empty"),
        pytest.param("- " + "[" * 5000, id="deep"),
        pytest.param('- {"a": ' + "[" * 60000, id="deep in an object"),
        pytest.param(line(host="x" * (64 << 10)), id="too long"),
        pytest.param(line(handle="../../xx"), id="handle is a path"),
        pytest.param(line(handle=12345678), id="handle is a number"),
        pytest.param(line(runId="20261127T101502Z-codex-00000000"), id="run of another handle"),
        pytest.param(line(runId="../20261127T101502Z-codex-7f3a9c21"), id="run id is a path"),
        pytest.param(line(agentName="../codex"), id="engine is a path"),
        pytest.param(line(agentName="--codex"), id="engine is a flag"),
        pytest.param(line(session="x"), id="session is text"),
        pytest.param(line(session={"field": "thread_id", "value": None}), id="half a session"),
        pytest.param(line(launch={"args": "--yolo"}), id="args are text"),
        pytest.param(line(launch={"args": [["--yolo"]]}), id="args are nested"),
        pytest.param(line(branch=7), id="branch is a number"),
        pytest.param(line(updatedAt="yesterday"), id="no time"),
        pytest.param(line(updatedAt="2026-02-31T10:15:02Z"), id="no such day"),
        pytest.param(line(schema=True), id="schema is no number"),
        pytest.param(line(schema=0), id="schema before the first"),
        pytest.param(line(host=...), id="key missing"),
        pytest.param(line(branch="x").replace('"x"', '"\\ud800"'), id="half a character"),
        pytest.param(line(branch="x").replace('"x"', '"\udcff"'), id="invalid UTF-8"),
        pytest.param(line(schema=1).replace('"schema": 1', '"schema": ' + "9" * 5000), id="huge number"),
    ],
)
def test_only_well_formed_lines_count(bad: str) -> None:
    found, problems = notes.parse(f"\n{bad}\n\n{line('00000001')}\n")
    assert handles(found) == ["00000001"]
    assert problems == ["line 2 is not a run"]


@pytest.mark.parametrize(
    ("times", "newest"),
    [
        pytest.param(["2026-11-27T10:15:02Z", "2026-11-27T10:15:03Z"], 1, id="second"),
        pytest.param(["2026-11-27T10:15:03Z", "2026-11-27T10:15:02Z"], 0, id="first"),
        pytest.param(["2026-11-27T10:15:02Z", "2026-11-27T10:15:02.5Z"], 1, id="a fraction is later than none"),
        pytest.param(["2026-11-27T10:15:02.5Z", "2026-11-27T10:15:02.45Z"], 0, id="fractions of other lengths"),
    ],
)
def test_newest_line_of_a_handle_wins(times: list[str], newest: int) -> None:
    found, _ = notes.parse("\r\n".join(line(updatedAt=time) for time in times))
    assert [note.updated_at for note in found] == [times[newest]]


def test_write_and_read_back(repo: GitRepo) -> None:
    facts = repo.facts()
    assert notes.read(facts) == notes.Notes({}, ())
    assert not notes.exists(facts)
    notes.write(facts, facts.head, record())
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
        notes.write(facts, facts.head, changed)
        whole = before if before.endswith("\n") else f"{before}\n"
        assert raw(repo) == whole + notes.render(changed) + "\n"


def test_own_line_is_replaced_where_it_stands(repo: GitRepo) -> None:
    noted(repo, f"{line('00000001')}\n{line()}\n{line('00000002')}\n{line()}\n")
    facts = repo.facts()
    notes.write(facts, facts.head, record(host="new"))
    expected = [line("00000001"), notes.render(record(host="new")), line("00000002")]
    assert raw(repo).split("\n")[:-1] == expected


def test_configured_notes_ref_changes_nothing(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("config", "core.notesRef", "refs/notes/other")
    monkeypatch.setenv("GIT_NOTES_REF", "refs/notes/third")
    facts = repo.facts()
    notes.write(facts, facts.head, record())
    assert handles(notes.read(facts).by_commit[repo.head()]) == ["7f3a9c21"]
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/notes") == REF


def test_sha256_and_linked_worktree(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", "--object-format=sha256")
    repo.commit("c")
    linked = repo.worktree(tmp_path / "linked", "side")
    head = linked.commit("c2")
    notes.write(linked.facts(), head, record())
    assert handles(notes.read(repo.facts()).by_commit[head]) == ["7f3a9c21"]


def test_write_after_the_work_tree_is_gone(repo: GitRepo, tmp_path: Path) -> None:
    facts = repo.worktree(tmp_path / "linked", "side").facts()
    repo.git("worktree", "remove", str(tmp_path / "linked"))
    notes.write(facts, facts.head, record())
    assert handles(notes.read(repo.facts()).by_commit[repo.head()]) == ["7f3a9c21"]


def test_nearest_is_the_first_commit_with_a_wanted_run(repo: GitRepo) -> None:
    facts, parent = repo.facts(), repo.git("rev-parse", "HEAD~1")
    notes.write(facts, facts.head, record(branch="other"))
    notes.write(facts, parent, record("00000001"))
    notes.write(facts, parent, record("00000002", updated_at="2026-11-28T00:00:00.000Z"))
    commits = [repo.head(), parent]
    assert handles(notes.nearest(facts, commits, lambda note: note.branch == "main")) == ["00000002", "00000001"]
    assert handles(notes.nearest(facts, commits, lambda _: True)) == ["7f3a9c21"]
    assert notes.nearest(facts, commits, lambda _: False) == ()


@pytest.mark.parametrize("limit", ["NEAR", "FIRST_BATCH"])
def test_nearest_beyond_the_first_ones(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(notes, limit, 1)
    facts, parent = repo.facts(), repo.git("rev-parse", "HEAD~1")
    notes.write(facts, facts.head, record(branch="other"))
    notes.write(facts, parent, record("00000001"))
    found = notes.nearest(facts, [repo.head(), parent], lambda note: note.branch == "main")
    assert handles(found) == ["00000001"]


def test_small_batches_read_the_same(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "BATCH_LIMIT", 1)
    facts, parent = repo.facts(), repo.git("rev-parse", "HEAD~1")
    notes.write(facts, facts.head, record())
    notes.write(facts, parent, record("00000001"))
    assert len(notes.read(facts).by_commit) == 2


def test_note_that_is_too_large_is_named_and_not_read(repo: GitRepo) -> None:
    noted(repo, f"{line()}\n" + "x" * (1 << 20))
    facts = repo.facts()
    found = notes.read(facts)
    assert found == notes.Notes({}, (f"note on {repo.head()[:12]}: larger than 1 MiB, not read",))
    with pytest.raises(notes.NoteFailed, match="larger than 1 MiB"):
        notes.write(facts, facts.head, record())


def test_notes_of_commits_that_are_gone(repo: GitRepo) -> None:
    """After a squash merge and gc most notes hang on commits that nobody has (glassfrog-clipper#71)."""
    facts, lost = repo.facts(), repo.head()
    notes.write(facts, facts.head, record())
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
    with pytest.raises(notes.NoteFailed) as caught:
        notes.write(facts, facts.head, record())
    assert caught.value.message == "the note could not be written: there is no commit yet"


def test_without_an_identity(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = repo.facts()
    repo.git("config", "user.useConfigOnly", "true")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    before = (repo.path / ".git/config").read_text()
    with pytest.raises(notes.NoteFailed) as caught:
        notes.write(facts, facts.head, record())
    assert caught.value.reason == "git does not know who you are; set user.name and user.email"
    assert (repo.path / ".git/config").read_text() == before


def test_record_that_no_reader_would_take(repo: GitRepo) -> None:
    facts = repo.facts()
    with pytest.raises(notes.NoteFailed, match="too long"):
        notes.write(facts, facts.head, record(branch="x" * (64 << 10)))
    assert not notes.exists(facts)


def test_locked_ref_is_tried_again_and_then_named(repo: GitRepo) -> None:
    facts = repo.facts()
    lock = repo.path / ".git/refs/notes/agent.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    pauses: list[float] = []
    with pytest.raises(notes.NoteFailed, match=r"refs/notes/agent cannot be updated: .*agent.lock"):
        notes.write(facts, facts.head, record(), sleep=pauses.append)
    assert len(pauses) == len(notes.PAUSES)
    lock.unlink()
    notes.write(facts, facts.head, record())
    assert raw(repo) == notes.render(record()) + "\n"


def test_writer_that_does_not_know_our_lock_loses_nothing(repo: GitRepo) -> None:
    """The other program moves the ref between our look at it and our swap: the swap fails and we start again."""
    facts = repo.facts()
    attempts: list[str] = []
    make_note = notes._make

    def interrupted(*args: Any) -> str:
        new = make_note(*args)
        if not attempts:
            repo.git("notes", f"--ref={REF}", "add", "-m", "by hand", "HEAD~1")
        attempts.append(new)
        return new

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notes, "_make", interrupted)
        notes.write(facts, facts.head, record(), sleep=lambda _: None)
    assert len(attempts) == 2
    assert (raw(repo, "HEAD~1"), raw(repo)) == ("by hand\n", notes.render(record()) + "\n")


WRITER = """
import os, sys
from git_agent_runner.git import discover
from git_agent_runner.model import Record
from git_agent_runner.store import notes
handle, commit = sys.argv[1:]
run = f"20261127T101502Z-codex-{handle}"
facts = discover(os.getcwd(), os.environ)
notes.write(facts, commit or facts.head, Record(handle, run, run, "codex", updated_at="2026-11-27T10:15:02Z"))
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
        notes.write(facts, commit, record(handle))
    repo.git(*rewrite, env={"GIT_SEQUENCE_EDITOR": f"sed -i '{sequence}'", "GIT_COMMITTER_DATE": "1800000000 +0000"})
    assert repo.head() not in old
    found, problems = notes.parse(raw(repo))
    assert (set(handles(found)), problems) == (expected, [])
    assert len(YAML(typ="safe").load(raw(repo))) == len(expected)


@pytest.mark.parametrize("strategy", ["union", "cat_sort_uniq"])
def test_merged_notes_stay_readable(repo: GitRepo, strategy: str) -> None:
    facts = repo.facts()
    notes.write(facts, facts.head, record("00000001"))
    repo.git("update-ref", "refs/notes/remote", REF)
    repo.git("notes", "--ref=refs/notes/remote", "append", "-m", line("00000002"))
    notes.write(facts, facts.head, record("00000003"))
    repo.git("notes", f"--ref={REF}", "merge", "-q", "-s", strategy, "refs/notes/remote")
    found, problems = notes.parse(raw(repo))
    assert (set(handles(found)), problems) == ({"00000001", "00000002", "00000003"}, [])
    assert len(YAML(typ="safe").load(raw(repo))) >= 3
