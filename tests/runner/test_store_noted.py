"""Which runs the notes name: what the derived file says is what the notes say, whatever happened to either."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_runner.store import notes
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.notes import noted
from support.gitrepo import GitRepo
from support.runs import leave


@pytest.fixture
def layout(repo: GitRepo) -> Layout:
    """Two commits, each noted by a run of `feat`, the second one by a run of another branch, too."""
    leave(repo, "aaaaaaaa", "record note", branch="feat")
    repo.commit("more")
    leave(repo, "bbbbbbbb", "note", branch="feat")
    leave(repo, "cccccccc", "note", branch="other")
    return Layout(repo.facts().common_dir)


def handles(repo: GitRepo, layout: Layout, *names: str) -> set[tuple[str, str]]:
    found = noted.of_branches(repo.facts(), layout, notes.tip(repo.facts(), notes.REF), names)
    return {(one.handle, repo.git("log", "-1", "--format=%s", one.commit)) for one in found}


def test_the_runs_of_a_branch_and_their_commits(repo: GitRepo, layout: Layout) -> None:  # faults D5
    *_, first, second = repo.git("log", "--format=%s", "--reverse").split("\n")
    for _ in range(2):
        assert handles(repo, layout, "feat") == {("aaaaaaaa", first), ("bbbbbbbb", second)}
        assert handles(repo, layout, "other", "feat") >= {("cccccccc", second)}
        assert handles(repo, layout, "fea", "eat", "") == set()


def test_only_what_changed_is_read(repo: GitRepo, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:  # faults D5
    handles(repo, layout, "feat")
    read: list[str] = []
    contents = notes.contents

    def counted(facts: object, listing: dict[str, list[notes.NoteBlob]]) -> notes.Notes:
        read.extend(listing)
        return contents(repo.facts(), listing)

    monkeypatch.setattr(notes, "contents", counted)
    assert len(handles(repo, layout, "feat")) == 2
    assert read == []
    repo.commit("third")
    leave(repo, "dddddddd", "note", branch="feat")
    assert {handle for handle, _ in handles(repo, layout, "feat")} == {"aaaaaaaa", "bbbbbbbb", "dddddddd"}
    assert read == [repo.head()]


def test_a_note_that_is_gone_or_has_another_run_is_seen(repo: GitRepo, layout: Layout) -> None:  # faults D5
    handles(repo, layout, "feat")
    repo.git("notes", "--ref=agent", "remove", "HEAD~1")
    leave(repo, "dddddddd", "note", branch="other")
    assert {handle for handle, _ in handles(repo, layout, "feat")} == {"bbbbbbbb"}
    assert {handle for handle, _ in handles(repo, layout, "other")} == {"cccccccc", "dddddddd"}


@pytest.mark.parametrize("branch", ["a\tb", "a\nfeat", "feat\t" + "0" * 40, "é\\N", "\\N"])
def test_any_name_survives(repo: GitRepo, layout: Layout, branch: str) -> None:  # faults D5
    leave(repo, "dddddddd", "note", branch=branch)
    for _ in range(2):
        assert {handle for handle, _ in handles(repo, layout, branch)} == {"dddddddd"}
        assert {handle for handle, _ in handles(repo, layout, "feat")} == {"aaaaaaaa", "bbbbbbbb"}


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda text: text[: len(text) // 2], id="torn"),
        pytest.param(lambda text: text.replace(b"notes 1", b"notes 9"), id="another version"),
        pytest.param(lambda text: text.replace(b"\tbbbbbbbb\n", b"\n"), id="a column short"),
        pytest.param(lambda text: b"\0" * len(text), id="zeros"),
        pytest.param(lambda text: b"\xff" + text, id="no text"),
    ],
)
def test_a_spoilt_file_is_made_anew(repo: GitRepo, layout: Layout, spoil: Callable[[bytes], bytes]) -> None:
    handles(repo, layout, "feat")
    file = Path(layout.notes_file)
    whole = file.read_bytes()
    assert spoil(whole) != whole
    file.write_bytes(spoil(whole))
    assert {handle for handle, _ in handles(repo, layout, "feat")} == {"aaaaaaaa", "bbbbbbbb"}
    assert file.read_bytes() == whole


def test_where_no_run_began_nothing_is_made(repo: GitRepo) -> None:
    layout = Layout(repo.facts().common_dir)
    assert handles(repo, layout, "feat") == set()
    leave(repo, "aaaaaaaa", "note", branch="feat")
    shutil.rmtree(layout.root, ignore_errors=True)
    assert {handle for handle, _ in handles(repo, layout, "feat")} == {"aaaaaaaa"}
    assert not Path(layout.root).exists()


def test_a_carriage_return_in_a_branchs_name_spoils_no_later_look(repo: GitRepo, layout: Layout) -> None:
    leave(repo, "eeeeeeee", "note", branch="a\rb")
    assert {handle for handle, _ in handles(repo, layout, "a\rb")} == {"eeeeeeee"}
    repo.commit("third")
    leave(repo, "dddddddd", "note", branch="feat")
    assert {handle for handle, _ in handles(repo, layout, "a\rb")} == {"eeeeeeee"}


def test_what_could_not_be_read_is_read_another_time(repo: GitRepo, layout: Layout, tmp_path: Path) -> None:
    """A tree of notes that is missing for a while names no run, and is not taken for an empty one for good."""
    tree = repo.git("rev-parse", f"{notes.REF}^{{tree}}")
    loose = repo.path / ".git/objects" / tree[:2] / tree[2:]
    shutil.move(loose, tmp_path / "away")
    assert handles(repo, layout, "other") == set()
    shutil.move(tmp_path / "away", loose)
    assert {handle for handle, _ in handles(repo, layout, "other")} == {"cccccccc"}
