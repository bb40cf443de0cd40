"""A name is used again, a branch is not: whose run is it after renames, copies and deletions? Faults A5, A15 to A17."""

from __future__ import annotations

import json
import os
from datetime import datetime
from math import inf
from pathlib import Path

import pytest

from git_agent_runner.cli import main
from git_agent_runner.core import checkpoints
from git_agent_runner.core.errors import UserError
from git_agent_runner.find import pointing
from git_agent_runner.find.identity import Span, lived
from git_agent_runner.git import refs
from git_agent_runner.store.records import attempts
from support import stored
from support.cli import Cli
from support.gitrepo import EPOCH, GitRepo, dates
from support.runs import START, find, leave

LATER = EPOCH + 100
A, B, C = "aaaaaaaa", "bbbbbbbb", "cccccccc"
RUN_TIME = int(datetime.fromisoformat(START).timestamp())
BEFORE, AFTER = RUN_TIME - 100, RUN_TIME + 100


def at(second: int) -> str:
    """A record's time."""
    return f"{datetime.fromtimestamp(second).isoformat()}.500Z"


def refused(repo: GitRepo) -> tuple[str, ...]:
    with pytest.raises(UserError) as caught:
        find(repo)
    assert caught.value.code == "no_run"
    return caught.value.hints


MADE = (Span("x", LATER),)
OLDER = (Span("x", -inf),)


@pytest.mark.parametrize(
    ("commands", "spans"),
    [
        pytest.param(["branch x"], MADE, id="git branch"),
        pytest.param(["checkout -q -b x"], MADE, id="git checkout -b"),
        pytest.param(["switch -q -c x v1"], MADE, id="git switch -c from a tag"),
        pytest.param(["worktree add -q -b x ../wt"], MADE, id="git worktree add -b"),
        pytest.param(["branch x origin/main"], MADE, id="made from another remote branch"),
        pytest.param(["switch -q -c x --no-track refs/remotes/origin/topic"], MADE, id="as before, named in full"),
        pytest.param(["worktree add -q -b x ../wt origin/main"], MADE, id="git worktree add -b from a remote branch"),
        pytest.param(["fetch -q origin topic:x"], MADE, id="fetched from another remote branch"),
        pytest.param(["branch old", "branch -c old x"], MADE, id="copied: born as a copy"),
        pytest.param(["branch old", "branch -m old x"], (Span("old", LATER, LATER), *MADE), id="renamed"),
        pytest.param(["switch -q --track origin/x"], OLDER, id="made from the remote branch by its name"),
        pytest.param(["branch x refs/remotes/origin/x"], OLDER, id="as before, named in full"),
        pytest.param(["branch x o/ther/x"], OLDER, id="of another remote, whose name has a slash"),
        pytest.param(["fetch -q origin x:x"], OLDER, id="fetched from the remote branch of the name"),
        pytest.param(["fetch -q origin +refs/heads/x*:refs/heads/x*"], OLDER, id="fetched with all others"),
        pytest.param(
            ["switch -q --track origin/topic", "branch -m x"], (Span("topic", -inf, LATER), *MADE), id="renamed here"
        ),
        pytest.param(["branch -q -m main x"], (Span("main", -inf, LATER), *MADE), id="made by the clone"),
        pytest.param(["checkout -q --orphan x", "commit -q --allow-empty -m o"], OLDER, id="its first commit"),
    ],
)
def test_when_a_branch_was_made_and_what_it_was_called(
    repo: GitRepo, tmp_path: Path, commands: list[str], spans: tuple[Span, ...]
) -> None:
    """Faults A15, A16: only a clone, or the remote branch of the same name, makes a branch older than its birth."""
    for name in ("topic", "x"):
        repo.git("branch", name)
    clone = repo.clone(tmp_path / "clone")
    clone.git("remote", "add", "o/ther", str(repo.path))
    clone.git("fetch", "-q", "o/ther")
    clone.git("tag", "v1")
    for command in commands:
        clone.git(*command.split(), env=dates(LATER))
    life = lived("x", refs.reflog(clone.facts(), "x") or [], ("origin", "o/ther"), inf)
    assert (life.spans, life.unsure) == (spans, frozenset())


@pytest.mark.parametrize("commands", [["update-ref refs/heads/x HEAD"], ["branch x", "reflog expire --expire=all x"]])
def test_where_nothing_tells_when_a_branch_was_made(repo: GitRepo, commands: list[str]) -> None:
    for command in commands:
        repo.git(*command.split(), env=dates(LATER))
    life = lived("x", refs.reflog(repo.facts(), "x") or [], (), inf)
    assert life.unsure == {"x"}
    assert life.spans == (Span("x", LATER if len(commands) == 1 else inf),)


def test_a_branch_renamed_to_a_dead_branchs_name(repo: GitRepo) -> None:
    """Faults A16, CH01."""
    repo.git("branch", "v2", env=dates(BEFORE))
    repo.switch_new("feature", when=BEFORE)
    leave(repo, A)
    repo.git("checkout", "-q", "v2")
    repo.git("branch", "-q", "-D", "feature")
    repo.git("branch", "-m", "v2", "feature", env=dates(AFTER))
    assert f"run {A} was skipped: it is older than this branch 'feature'" in refused(repo)[0]


def test_the_run_of_a_dead_branch_given_by_its_handle(repo: GitRepo) -> None:
    """Faults A15: with the handle it goes on, on the branch that has the name now, and that is said."""
    repo.switch_new("fix", when=BEFORE)
    leave(repo, A)
    assert find(repo, handle=A).says == ()
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "fix")
    repo.switch_new("fix", when=AFTER)
    said = f"run {A} belongs to an earlier, deleted branch 'fix'; a resume moves it to this one"
    assert find(repo, handle=A).says == (said,)


@pytest.mark.parametrize("own", [True, False])
def test_a_branch_renamed_onto_a_living_one(repo: GitRepo, own: bool) -> None:
    """Faults A16: git leaves the pointer of the branch that was overwritten in the section."""
    repo.switch_new("a", when=BEFORE)
    if own:
        leave(repo, A)
    repo.switch_new("b", when=BEFORE)
    leave(repo, B)
    repo.git("checkout", "-q", "a")
    repo.git("branch", "-M", "a", "b", env=dates(AFTER))
    if own:
        assert repo.git("config", "--get-all", "branch.b.agentHandle").split() == [A, B]
        assert find(repo).handle == A
    else:
        assert f"run {B} was skipped: it is older" in refused(repo)[0]


def test_a_branch_copied_onto_a_living_one(repo: GitRepo) -> None:
    repo.switch_new("a", when=BEFORE)
    leave(repo, A)
    repo.switch_new("b", when=BEFORE)
    leave(repo, B)
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-C", "a", "b", env=dates(AFTER))
    repo.git("checkout", "-q", "b")
    hints = refused(repo)
    assert (
        f"run {A} was skipped: it is the run of branch 'a', which 'b' was copied from; to switch to it: git switch a"
        in (hints)
    )
    repo.git("checkout", "-q", "a")
    assert find(repo).handle == A


def test_which_of_two_is_the_copy(repo: GitRepo) -> None:
    """Faults A16, CH17: the old name, made again as a copy of the branch that was renamed."""
    repo.switch_new("a", when=BEFORE)
    leave(repo, A)
    repo.git("branch", "-m", "a", "b", env=dates(AFTER))
    repo.git("branch", "-c", "b", "a", env=dates(AFTER + 100))
    assert find(repo).handle == A
    repo.git("checkout", "-q", "a")
    assert "it is the run of branch 'b', which 'a' was copied from" in refused(repo)[0]


def test_a_copy_does_not_have_the_run_of_an_original_that_was_renamed(repo: GitRepo) -> None:
    """Faults A16: the original points at a newer run by now, and has another name."""
    repo.switch_new("a", when=BEFORE)
    leave(repo, A)
    repo.git("branch", "-c", "a", "c", env=dates(AFTER))
    leave(repo, B, updated_at=at(AFTER + 50))
    repo.git("branch", "-m", "a", "b", env=dates(AFTER + 100))
    assert find(repo).handle == B
    repo.git("checkout", "-q", "c")
    assert "it is the run of branch 'b', which 'c' was copied from" in refused(repo)[0]


def test_of_two_pointers_that_are_both_the_branchs_the_newer_run_counts(repo: GitRepo) -> None:
    """Faults A16: the branch takes the place of a copy of itself, whose pointer names its older run."""
    repo.switch_new("a", when=BEFORE)
    leave(repo, A)
    repo.git("branch", "-c", "a", "c", env=dates(AFTER))
    leave(repo, B, updated_at=at(AFTER + 50))
    repo.git("branch", "-M", "a", "c", env=dates(AFTER + 100))
    assert sorted(repo.git("config", "--get-all", "branch.c.agentHandle").split()) == [A, B]
    assert find(repo).handle == B


@pytest.fixture
def renamed(cli: Cli) -> Cli:
    """Branch b, which was a when it had two runs, and a new a, where the person stands."""
    repo = cli.repo
    repo.switch_new("a", when=BEFORE)
    leave(repo, A)
    leave(repo, B, updated_at=at(RUN_TIME + 10))
    repo.git("branch", "-m", "a", "b", env=dates(AFTER))
    repo.switch_new("a", "main", when=AFTER + 100)
    return cli


def test_a_rename_takes_all_runs_along(renamed: Cli) -> None:
    """Faults A16, CH05: in list, for older handles, on the branch, and not for the old name."""
    listed = {run["handle"]: run["branch"] for run in renamed.ok("list", "--json").json["runs"]}
    assert listed == {A: "b", B: "b"}
    for handle in (A, B):
        assert renamed.ok("show", handle, "--json").json["branch"] == "b"
    hints = refused(renamed.repo)
    assert hints[:2] == tuple(
        f"run {handle} was skipped: it is the run of branch 'b'; to switch to it: git switch b" for handle in (B, A)
    )
    renamed.repo.git("checkout", "-q", "b")
    renamed.repo.git("config", "--unset", "branch.b.agentHandle")
    assert find(renamed.repo).handle == B


def test_prune_spares_the_runs_of_a_renamed_branch(renamed: Cli) -> None:
    """Faults A17, CH07."""
    assert renamed.ok("prune", "--merged", "--json").json["removed"] == []
    renamed.repo.git("branch", "-q", "-D", "b")
    removed = renamed.ok("prune", "--merged", "--json").json["removed"]
    assert sorted(run["handle"] for run in removed) == [A, B]


@pytest.mark.parametrize("work", ["none", "committed on it", "merged with a merge commit"])
def test_prune_spares_a_branch_that_has_only_caught_up(cli: Cli, work: str) -> None:
    """Faults A17, CH07."""
    repo = cli.repo
    repo.switch_new("feat", when=BEFORE)
    leave(repo, A)
    if work != "none":
        repo.commit("work", when=AFTER)
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", *(("--no-ff", "-m", "m") if "merge" in work else ()), "feat")
    repo.commit("of others", when=AFTER)
    repo.git("checkout", "-q", "feat")
    if "merge" not in work:
        repo.git("rebase", "-q", "main", env=dates(AFTER))
    removed = cli.ok("prune", "--merged", "--json").json["removed"]
    assert [run["handle"] for run in removed] == ([] if work == "none" else [A])


@pytest.fixture
def unlogged(repo: GitRepo) -> GitRepo:
    """Git keeps no reflogs here, as in bare layouts."""
    repo.git("config", "core.logAllRefUpdates", "false")
    return repo


def test_a_dead_branchs_name_where_there_are_no_reflogs(unlogged: GitRepo) -> None:
    """Faults A5, RG09."""
    unlogged.switch_new("fix")
    leave(unlogged, A, updated_at="2020-01-01T00:00:00.000Z")
    unlogged.git("checkout", "-q", "main")
    unlogged.git("branch", "-q", "-D", "fix")
    unlogged.switch_new("fix")
    assert refused(unlogged)[0] == (
        f"run {A} was skipped: git does not tell whether it is older than this branch 'fix';"
        f" if it is this branch's: git agent adopt {A}"
    )


def test_a_branch_without_a_reflog_has_the_runs_that_ended_since_it_was_there(unlogged: GitRepo) -> None:
    unlogged.switch_new("fix")
    os.utime(unlogged.path / ".git/refs/heads/fix", (BEFORE, BEFORE))
    leave(unlogged, A, "record")
    assert find(unlogged).handle == A
    os.utime(unlogged.path / ".git/refs/heads/fix", (AFTER, AFTER))
    assert "git does not tell" in refused(unlogged)[0]


@pytest.mark.parametrize("pieces", ["record pointer", "note"])
def test_more_than_a_name_counts_where_there_are_no_reflogs(unlogged: GitRepo, pieces: str) -> None:
    unlogged.switch_new("fix")
    unlogged.commit("own")
    leave(unlogged, A, pieces)
    assert find(unlogged).handle == A


def test_a_rename_where_there_are_no_reflogs(unlogged: GitRepo, isolated: Path) -> None:
    cli = Cli(unlogged, isolated)
    unlogged.switch_new("a")
    leave(unlogged, A)
    leave(unlogged, B, updated_at=at(RUN_TIME + 10))
    unlogged.git("branch", "-m", "b")
    assert find(unlogged).handle == B
    for _ in range(2):
        assert {run["branch"] for run in cli.ok("list", "--json").json["runs"]} == {"b"}
        assert cli.ok("prune", "--merged", "--json").json["removed"] == []
        cli.begin()  # the pointer, which had told of the rename, now names a run of the new name


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_branch_moved_onto_a_living_one_where_there_are_no_reflogs(unlogged: GitRepo, first: str) -> None:
    """Faults A20: the section has both pointers, in whatever order; the overwritten branch's run is nobody's."""
    for name in (first, *({"a", "b"} - {first})):
        unlogged.switch_new(name)
        unlogged.git("config", f"branch.{name}.description", name)
    for name, handle in (("b", B), ("a", A)):
        unlogged.git("checkout", "-q", name)
        leave(unlogged, handle)
    unlogged.git("branch", "-M", "a", "b")
    assert (find(unlogged).handle, find(unlogged).others) == (A, ())


def test_a_branch_copied_onto_a_living_one_where_there_are_no_reflogs(unlogged: GitRepo) -> None:
    """Faults A20: the original has its run, the branch that was overwritten has none any more."""
    for name, handle in (("b", B), ("a", A)):
        unlogged.switch_new(name)
        leave(unlogged, handle)
    unlogged.git("branch", "-C", "a", "b")
    assert find(unlogged).handle == A
    unlogged.git("checkout", "-q", "b")
    hints = refused(unlogged)
    assert {hint[4:12] for hint in hints if hint.startswith("run ")} == {A, B}


def test_commit_names_a_run_of_the_branch_that_is_given(renamed: Cli) -> None:
    """Faults F9: at or behind the commit; with --branch only that branch's runs, whatever it was called then."""
    repo = renamed.repo
    repo.git("checkout", "-q", "b")
    tip = repo.commit("more")
    assert find(repo, commit=tip).handle in (A, B)
    assert find(repo, commit=tip, branch="b").handle in (A, B)
    with pytest.raises(UserError):
        find(repo, commit=tip, branch="a")


@pytest.mark.parametrize("logged", ["true", "false"])
def test_a_rename_before_the_engine_is_there(repo: GitRepo, logged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults A20: the pointer of the run that began under the old name goes to the branch, not to its older run."""
    from git_agent_runner import context

    repo.git("config", "core.logAllRefUpdates", logged)
    repo.switch_new("a", when=BEFORE)
    leave(repo, A)
    new = leave(repo, B, "record", updated_at=at(RUN_TIME + 10))
    monkeypatch.chdir(repo.path)
    ctx = context.load()
    repo.git("branch", "-m", "a", "b", env=dates(AFTER))
    pointing.point(ctx, new, stored.attempt())
    assert repo.git("config", "branch.b.agentHandle") == B
    assert find(repo).handle == B


def test_a_branch_made_anew_while_the_engine_ran(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    from git_agent_runner import context

    repo.switch_new("a", when=BEFORE)
    record = leave(repo, A)
    monkeypatch.chdir(repo.path)
    ctx = context.load()
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "a")
    repo.switch_new("a", when=AFTER)
    assert pointing.owner(ctx, record) is None


def test_of_two_runs_at_once_the_branch_stays_with_the_one_that_began_last(cli: Cli, tmp_path: Path) -> None:
    """Faults A20."""
    go = tmp_path / "go"
    os.mkfifo(go)
    first = cli.start("start", "-e", "codex", "--json", "one", FAKE_CMD=f"read x <{go}")
    with go.open("w") as gate:  # opens once the first engine reads
        second = cli.begin()
        gate.write("\n")
    out, err = first.communicate(timeout=60)
    assert cli.pointers() == {"main": second.handle}
    assert f"branch 'main' keeps run {second.handle}, which began later" in err.decode()
    assert json.loads(out)["handle"] != second.handle


def test_a_run_that_began_first_takes_no_branch_when_its_engine_is_there_at_last(
    here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faults A20: the other run has begun, and ended, before the pointer was moved; it began later all the same."""
    later: list[str] = []

    def watcher(step: checkpoints.Step) -> None:
        if step == "engine-spawned" and not later:
            later.append(here.begin(FAKE_ID="new").handle)

    monkeypatch.setattr(checkpoints, "watcher", watcher)
    assert main(["start", "-e", "codex", "one"]) == 0
    assert here.pointers() == {"main": later[0]}


def test_a_run_of_a_clock_that_was_ahead_gives_the_branch_away(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults A20: what began in the future began before this."""
    from git_agent_runner import context

    old, new = leave(repo, B), leave(repo, A, "record")
    monkeypatch.chdir(repo.path)
    ctx = context.load()
    began = stored.attempt(run_id=old.run_id, started_at="2099-01-01T00:00:00.000Z")
    attempts.new_run(ctx.layout, old.run_id)
    attempts.begin(ctx.layout, began)
    pointing.point(ctx, new, stored.attempt())
    assert repo.git("config", "branch.main.agentHandle") == A


def test_a_branch_that_its_own_run_renames_has_the_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults A20: the run ends in the second of the rename, and a newer one has the pointer."""
    for name in dates(0):
        monkeypatch.delenv(name)
    cli.repo.git("switch", "-q", "-c", "a")
    first = cli.begin(FAKE_ID="new", FAKE_CMD="sleep 1.1; git branch -m a b")
    assert first.branch == "b"
    second = cli.begin(FAKE_ID="new")
    assert {run["handle"]: run["branch"] for run in cli.ok("list", "--json").json["runs"]} == {
        first.handle: "b",
        second.handle: "b",
    }
    cli.ok("prune", second.handle, "--notes")  # its note is the newer one, or is not: that depends on the second
    assert cli.ok("status", "--json").json["handle"] == first.handle


def test_a_pointer_that_another_program_leaves_behind_is_no_claim(repo: GitRepo) -> None:
    """faults A15: jujutsu, for one, deletes the ref alone, and makes one without git's words in its reflog."""
    repo.git("switch", "-q", "-c", "x", env=dates(BEFORE))
    leave(repo, A)
    repo.git("switch", "-q", "main")
    repo.git("update-ref", "-d", "refs/heads/x")
    repo.git("update-ref", "-m", "export from jj", "refs/heads/x", "main", env=dates(AFTER))
    repo.git("switch", "-q", "x")
    doubt = f"run {A} was skipped: git does not tell whether it is older than this branch 'x'"
    assert refused(repo)[0] == f"{doubt}; if it is this branch's: git agent adopt {A}"


def test_a_pointer_holds_where_only_the_reflogs_beginning_has_expired(repo: GitRepo) -> None:
    """faults A5"""
    repo.git("switch", "-q", "-c", "x", env=dates(BEFORE))
    leave(repo, A)
    repo.git("reflog", "expire", "--expire=all", "refs/heads/x")
    repo.git("update-ref", "-m", "export from jj", "refs/heads/x", "HEAD~1", env=dates(AFTER))
    assert find(repo).handle == A
