"""`git agent fix`: an agent makes a check pass in a copy, and nobody loses anything. Real git, stand-in engines."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import Mock

import pytest

from git_agent_runner import context
from git_agent_runner.attempt import run as attempt
from git_agent_runner.review.fixing import door
from git_agent_runner.review.fixing.check import Checked
from git_agent_runner.review.fixing.door import FixRequest, Ways
from git_agent_runner.review.fixing.snapshot import ABSENT, ChangedPath, Changes, Snapshot
from support.cli import Cli, Done
from support.gitrepo import GitRepo
from support.runs import leave

CHECK = "grep -q good f"
MEND = "sed -i s/bad/good/ f"


class Planned(NamedTuple):
    """A record, for as much as a fix looks at it."""

    role: str
    handle: str = "aaaaaaaa"


class Plan(NamedTuple):
    record: Planned
    name: str = "codex"


@pytest.fixture
def here(cli: Cli) -> Cli:
    """`f` is staged and bad."""
    write(cli.repo, "f", "1\n2\nbad\n4\n5\n")
    cli.repo.git("add", "f")
    return cli


def write(repo: GitRepo, name: str, text: str) -> None:
    (repo.path / name).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / name).write_bytes(text.encode("utf-8", "surrogateescape"))


def text(cli: Cli, name: str = "f") -> str:
    return (cli.repo.path / name).read_bytes().decode("utf-8", "surrogateescape")


def fixed(cli: Cli, *words: str, check: str = CHECK, does: str = MEND, **environ: str) -> Done:
    return cli.run("fix", "-e", "codex", "--check", check, *words, stdin=None, cwd=None, FAKE_CMD=does, **environ)


def standing(cli: Cli) -> tuple[str, ...]:
    """Index, HEAD, branches and what git sees of files: none of it an agent's business."""
    words = (("ls-files", "-s"), ("rev-parse", "HEAD"), ("status", "--porcelain"), ("for-each-ref",), ("diff",))
    return tuple(cli.repo.git(*each) for each in words)


def nothing_is_left(cli: Cli) -> None:
    assert cli.repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert not os.path.lexists(f"{cli.layout.root}/snapshots")


def test_a_check_that_passes_starts_nobody(here: Cli) -> None:
    before = standing(here)
    done = fixed(here, check="grep -q bad f")
    assert (done.status, done.out, here.calls()) == (0, "grep -q bad f passes\n", [])
    assert standing(here) == before
    nothing_is_left(here)


def test_what_the_agent_changed_goes_into_index_and_work_tree(here: Cli) -> None:
    """Issue 12, W5: unstaged and untracked content stays as it is, and the run is nobody's."""
    mine = leave(here.repo, "aaaaaaaa")
    write(here.repo, "f", "1\n2\nbad\n4\n5\ntyped\n")
    write(here.repo, "new", "untracked\n")
    done = fixed(here, does=f"{MEND}; echo 1 > 'made by it'; mkdir -p d .git-agent-spare; echo 2 > d/e")
    assert done.status == 0, done
    assert done.out.startswith("fixed 3 files: d/e, f, made by it (codex, run ")
    assert text(here) == "1\n2\ngood\n4\n5\ntyped\n"
    assert here.repo.git("show", ":f") == "1\n2\ngood\n4\n5"
    assert (text(here, "made by it"), text(here, "d/e"), text(here, "new")) == ("1\n", "2\n", "untracked\n")
    assert here.repo.git("diff", "--name-only") == "f"
    assert here.repo.git("ls-files", "--others") == "new"
    assert here.pointers() == {"main": mine.handle}
    assert here.ok("show", "--json").json["handle"] == mine.handle
    listed = {run["role"] for run in here.ok("list", "--json").json["runs"]}
    every = {run["role"] for run in here.ok("list", "--all", "--json").json["runs"]}
    assert (listed, every) == ({"work"}, {"work", "fix"})
    (call,) = here.calls()
    assert f"fails here: {CHECK}" in call["stdin"]
    assert call["cwd"].startswith(f"{here.layout.root}/snapshots/")
    nothing_is_left(here)


def test_the_agent_is_told_what_the_check_printed_and_tries_again(here: Cli) -> None:
    """The second attempt continues the session of the first."""
    step = "[ -e tried ] && sed -i s/bad/good/ f; touch tried"
    done = fixed(here, check="sh -c 'cat f; grep -q good f'", does=step)
    assert done.status == 0, done
    first, second = here.calls()
    assert "2\nbad\n4" in first["stdin"]
    assert "resume" in second["argv"]
    assert here.record().attempts == 2


def test_a_check_that_never_passes_leaves_a_patch(here: Cli) -> None:
    before = standing(here)
    done = fixed(here, "--attempts", "1", does="sed -i s/bad/worse/ f")
    assert done.status == 1
    assert standing(here) == before
    handle = here.record().handle
    line = f"to apply it: git apply --3way .git/agent/patches/{handle}.patch"
    assert f"hint: {line}" in done.lines, done
    subprocess.run(line.removeprefix("to apply it: ").split(), cwd=here.repo.path, check=True)
    assert text(here) == "1\n2\nworse\n4\n5\n"
    nothing_is_left(here)


@pytest.mark.parametrize(
    ("does", "end", "why"),
    [
        pytest.param(f"{MEND}; rm c", "", "the check cannot be run", id="the check is gone"),
        pytest.param("sed -i s/bad/good/ g", "rm -rf ~/.codex", "session", id="the session is gone"),
    ],
)
def test_work_is_saved_where_what_follows_it_fails(here: Cli, does: str, end: str, why: str) -> None:
    """Hooks for agents, W5: an attempt was paid for, and a later check or attempt that cannot begin threw it away."""
    write(here.repo, "c", f"#!/bin/sh\n{CHECK}\n")
    write(here.repo, "g", "bad\n")
    (here.repo.path / "c").chmod(0o755)
    here.repo.git("add", "c", "g")
    before = standing(here)
    done = fixed(here, check="./c", does=does, FAKE_END=end)
    assert (done.status, [why in line for line in done.lines if line.startswith("fatal: ")]) == (128, [True]), done
    assert standing(here) == before
    (line,) = [line for line in done.lines if "to apply it: " in line]
    subprocess.run(line.partition("to apply it: ")[2].split(), cwd=here.repo.path, check=True)
    assert "good" in (text(here, "g") if end else text(here))
    nothing_is_left(here)


def test_a_deadline_is_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt and each check had all of --timeout to itself."""
    limits: list[float] = []

    def check(_words: object, _cwd: object, _environ: object, limit: float, _cancel: object) -> Checked:
        limits.append(limit)
        return Checked(False, "")

    def run(_ctx: object, _plan: object, _view: object, limit: float, _cancel: object) -> SimpleNamespace:
        limits.append(limit)
        settled = SimpleNamespace(attempt=SimpleNamespace(number=len(limits) // 2 + 1), record=Planned("fix"))
        settled.verdict = SimpleNamespace(status="completed")
        settled.transcript = SimpleNamespace(final_message="")
        return SimpleNamespace(settled=settled, outcome=SimpleNamespace(interrupted=False, timed_out=False))

    monkeypatch.setattr(door, "check", check)
    monkeypatch.setattr(attempt, "run", run)
    for name in ("choose_engine", "find_program", "plan_start", "plan_resume"):
        monkeypatch.setattr(door, name, lambda *_words, **_named: Plan(Planned("fix")))
    monkeypatch.setattr(door, "changes", lambda _snap: Changes((), b""))
    ways = Ways(lambda: False, lambda _engine: None, door.after(1000.0))
    made = door.make(Mock(), Mock(), FixRequest(("false",), attempts=2), ways, Checked(False, ""))
    assert not made.passes
    assert len(limits) == 4
    assert [1000.0, *limits] == sorted({1000.0, *limits}, reverse=True)
    assert ways._replace(until=0.0).left() == 0.0


@pytest.mark.parametrize("gone", ["git", "index"])
def test_nothing_is_put_for_a_git_that_has_ended(here: Cli, monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    """Its index is no longer that of a commit, and no file is to change then."""
    monkeypatch.chdir(here.repo.path)
    index = here.repo.path / ".git/next-index-1.lock"
    ctx = context.load()._replace(environ={**os.environ, "GIT_INDEX_FILE": str(index)})
    snap = Snapshot(ctx, str(here.home), "", ())
    entry = ChangedPath("new", ABSENT, "0" * 40, "100644", here.repo.git("rev-parse", ":f"))
    before = standing(here)
    why = door._put(ctx, snap, Ways(lambda: gone == "git", lambda _engine: None, None), [entry])
    whole = {"git": "the git that waited for it has ended", "index": "the index that git commits from is missing"}
    assert why == whole[gone]
    assert standing(here) == before
    assert not index.exists()


def test_a_sparse_checkout_stays_sparse(here: Cli) -> None:
    """What the agent changes outside of it is staged, and only what is new is written."""
    write(here.repo, "out/x", "1\n")
    write(here.repo, "in/x", "1\n")
    here.repo.git("add", ".")
    here.repo.git("commit", "-qm", "all")
    here.repo.git("sparse-checkout", "set", "in")
    done = fixed(here, does=f"{MEND}; mkdir out; echo 2 > out/x; echo 3 > out/new; echo 2 > in/x")
    assert (done.status, done.out.partition(" (")[0]) == (0, "fixed 4 files: f, in/x, out/new, out/x"), done
    assert (text(here, "in/x"), text(here, "out/new")) == ("2\n", "3\n")
    assert (here.repo.git("show", ":out/x"), here.repo.git("ls-files", "-t", "out/x")) == ("2", "S out/x")
    assert not (here.repo.path / "out/x").exists()
    assert here.repo.git("diff", "--name-only") == ""


@pytest.mark.parametrize(
    ("unstaged", "does", "why"),
    [
        pytest.param("1\n2\nmine\n4\n5\n", MEND, "f: your changes conflict with these", id="the same line"),
        pytest.param(None, MEND, "f: you have deleted it", id="deleted"),
        pytest.param("1\n2\nbad\n4\n5\n", f"{MEND}; echo 2 > new", "new: it is there already", id="untracked"),
        pytest.param("1\n2\nbad\n4\n", f"{MEND}; cp f g; rm f; mkdir f; mv g f/g", "f: ", id="a directory now"),
    ],
)
def test_what_is_not_clean_is_saved_and_nothing_touched(here: Cli, unstaged: str | None, does: str, why: str) -> None:
    """Issue 12, W5, and fault F4: the person's staged and unstaged lines used to be thrown away."""
    write(here.repo, "new", "untracked\n")
    (here.repo.path / "f").unlink()
    if unstaged is not None:
        write(here.repo, "f", unstaged)
    before = standing(here)
    done = fixed(here, check="grep -rq good .", does=does)
    assert done.status == 1
    assert f"was not applied to your files: {why}" in done.err
    assert standing(here) == before
    assert text(here, "new") == "untracked\n"
    assert "good" in Path(here.layout.root, "patches", f"{here.record().handle}.patch").read_text()


def test_what_was_staged_meanwhile_stays_staged(here: Cli) -> None:
    """Fault F4: an agent that adds its fix overwrote it."""
    stage = f"cd {here.repo.path}; echo mine > f; git add f"
    done = fixed(here, does=f"{MEND}; ({stage})")
    assert done.status == 1
    assert "f: something else has been staged since" in done.err
    assert (here.repo.git("show", ":f"), text(here)) == ("mine", "mine\n")


@pytest.mark.parametrize("move", ["git commit -qm mine", "git switch -qc other"])
def test_nothing_is_put_onto_another_head(here: Cli, move: str) -> None:
    done = fixed(here, does=f"{MEND}; (cd {here.repo.path}; {move})")
    assert done.status == 1
    assert "HEAD has moved since" in done.err
    assert "bad" in text(here)


KINDS = """
head -c 3000 /dev/zero > bin; printf '\\0\\377' >> bin
rm deleted; mv moved 'else where'; chmod +x program; chmod -x script
ln -s ../f link; ln -sf elsewhere old-link
rm linked; ln -s f linked; rm unlinked; echo 1 > unlinked
echo 1 > "$(printf 'l\\303\\244 \\n"x')"; echo 2 > "$(printf 'lat\\351n')"
: > emptied; printf x > endless
rm -r folder; echo 1 > folder; rm file; mkdir file; echo 1 > file/in
"""


def test_every_kind_of_change_arrives(here: Cli) -> None:
    """The work tree and the index are then as the agent left its copy."""
    names = ("deleted", "moved", "program", "script", "linked", "emptied", "endless", "folder/in", "file")
    for name in names:
        write(here.repo, name, f"{name}\n")
    (here.repo.path / "script").chmod(0o755)
    for name in ("old-link", "unlinked"):
        (here.repo.path / name).symlink_to("f")
    here.repo.git("add", "-A")
    done = fixed(here, does=f"{MEND}{KINDS}git add -A; git write-tree > {here.home}/tree")
    assert done.status == 0, done
    assert here.repo.git("write-tree") == (here.home / "tree").read_text().strip()
    assert (here.repo.git("ls-files", "--others"), here.repo.git("diff", "--stat")) == ("", "")


def test_line_ends_and_filters_are_the_person_s(here: Cli) -> None:
    """What git stores is compared, and what git would check out is written."""
    write(here.repo, ".gitattributes", "w text eol=crlf\nu text\nz filter=zed\n")
    here.repo.git("config", "filter.zed.clean", "tr z s")
    here.repo.git("config", "filter.zed.smudge", "tr s z")
    for name, content in (("w", "one\r\nbad\r\n"), ("u", "one\r\nbad\r\n"), ("z", "ztored\nbad\n")):
        write(here.repo, name, content)
    here.repo.git("add", "-A")
    done = fixed(here, does="sed -i s/bad/good/ f w u z")
    assert done.status == 0, done
    assert (text(here, "w"), text(here, "u")) == ("one\r\ngood\r\n", "one\r\ngood\r\n")
    assert (text(here, "z"), here.repo.git("show", ":z")) == ("ztored\ngood\n", "stored\ngood")
    assert here.repo.git("diff", "--stat") == ""


def test_submodules_and_ignored_files_are_left_alone(here: Cli) -> None:
    inner = here.repo.path / "sub"
    here.repo.git("init", "-q", str(inner))
    here.repo.git("-C", str(inner), "commit", "-q", "--allow-empty", "-m", "inner")
    write(here.repo, ".gitignore", "junk\n")
    here.repo.git("add", "sub", ".gitignore")
    done = fixed(
        here, does=f"{MEND}; rmdir sub; echo 1 > junk; git init -q nested; git -C nested commit -q --allow-empty -m x"
    )
    assert done.status == 0, done
    assert done.out.startswith("fixed 1 file: f ")
    assert here.repo.git("ls-files", "-s", "sub").startswith("160000")
    assert (inner / ".git").exists()
    assert not (here.repo.path / "junk").exists()


def test_an_agent_that_commits_hands_back_its_work(here: Cli) -> None:
    before = here.repo.git("rev-parse", "HEAD")
    done = fixed(here, does=f"{MEND}; git commit -qam agents; rm .git")
    assert done.status == 0, done
    assert (text(here), here.repo.git("rev-parse", "HEAD")) == ("1\n2\ngood\n4\n5\n", before)
    nothing_is_left(here)


def test_an_agent_that_goes_to_another_commit_hands_back_nothing(here: Cli) -> None:
    before = standing(here)
    done = fixed(here, does=f"{MEND}; git checkout -qf HEAD~1")
    assert (done.status, done.lines[-1]) == (128, "fatal: the agent moved HEAD away from the commit it was given")
    assert standing(here) == before


def test_ignored_directories_that_checks_need_are_linked(here: Cli) -> None:
    """`agent.fix.link`: the person's own setting."""
    write(here.repo, ".gitignore", "deps/\n")
    write(here.repo, "deps/tool", "#!/bin/sh\nexec grep -q good f\n")
    (here.repo.path / "deps/tool").chmod(0o755)
    here.repo.git("add", ".gitignore")
    missing = fixed(here, check="deps/tool")
    assert (missing.status, missing.lines[-1].startswith("fatal: the check cannot be run: ")) == (128, True), missing
    here.repo.git("config", "agent.fix.link", "deps/ ../outside")
    done = fixed(here, check="deps/tool")
    assert (done.status, done.out.startswith("fixed 1 file: f ")) == (0, True), done
    assert stat.S_ISDIR((here.repo.path / "deps").lstat().st_mode)


def test_a_prompt_alone_is_one_attempt(here: Cli) -> None:
    done = here.run("fix", "-e", "codex", "make it good", stdin=None, cwd=None, FAKE_CMD=MEND)
    assert (done.status, text(here)) == (0, "1\n2\ngood\n4\n5\n"), done
    (call,) = here.calls()
    assert call["stdin"].startswith("make it good\n\n")


@pytest.mark.parametrize("words", [(), ("--check", ""), ("--check", "'"), ("--check", "x", "two", "words")])
def test_mistakes(here: Cli, words: tuple[str, ...]) -> None:
    assert here.run("fix", *words, stdin=None, cwd=None).status == 129
    assert here.calls() == []


def hook(cli: Cli, *words: str) -> None:
    path = cli.repo.path / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec git-agent fix -e codex --check '{CHECK}' {' '.join(words)}\n")
    path.chmod(0o755)


def commit(cli: Cli, *words: str) -> subprocess.CompletedProcess[str]:
    env = cli.environ(FAKE_CMD=f"{MEND}; echo 1 > made")
    words = ("git", "commit", "-q", "-m", "m", *words)
    return subprocess.run(words, cwd=cli.repo.path, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [(), ("-a",), ("f",)], ids=["index", "-a", "PATH"])
def test_a_commit_that_was_fixed_fails_once(here: Cli, words: tuple[str, ...]) -> None:
    """The next one has the fix. What else is staged is not part of `git commit PATH`, and stays staged."""
    write(here.repo, "f", "")
    here.repo.git("add", "f")
    here.repo.git("commit", "-qm", "begin")
    write(here.repo, "f", "1\n2\nbad\n4\n5\n")
    write(here.repo, "other", "staged\n")
    here.repo.git("add", "other", *([] if words else ["f"]))
    hook(here)
    done = commit(here, *words)
    assert (done.returncode, here.repo.git("log", "-1", "--format=%s")) == (1, "begin"), done
    assert done.stderr.endswith("look at it (git diff HEAD), and commit again\n")
    assert text(here) == "1\n2\ngood\n4\n5\n"
    done = commit(here, *words)
    assert done.returncode == 0, done
    assert here.repo.git("show", "HEAD:f") == "1\n2\ngood\n4\n5"
    assert len(here.calls()) == 1
    assert here.repo.git("diff", "HEAD", "--name-only") == ("other" if words == ("f",) else "")


@pytest.mark.parametrize("words", [(), ("-a",), ("f",)], ids=["index", "-a", "PATH"])
def test_restage_lets_the_commit_go_on_with_the_fix_in_it(here: Cli, words: tuple[str, ...]) -> None:
    here.repo.git("commit", "-qm", "begin")
    write(here.repo, "f", "1\n2\nbad\n4\n5\nmore\n")
    write(here.repo, "other", "staged\n")
    here.repo.git("add", "other", *([] if words else ["f"]))
    hook(here, "--restage")
    done = commit(here, *words)
    assert done.returncode == 0, done
    assert here.repo.git("show", "HEAD:f") == "1\n2\ngood\n4\n5\nmore"
    assert here.repo.git("show", "HEAD:made") == "1"
    assert here.repo.git("status", "--porcelain") == ("A  other" if words == ("f",) else "")


@pytest.mark.parametrize("words", [("--amend",), ("--allow-empty",)], ids=lambda words: words[0])
def test_a_commit_that_changes_no_file_pays_nobody(here: Cli, words: tuple[str, ...]) -> None:
    """Faults of agents in hooks F7: only the message is new, and what is wrong was there before."""
    here.repo.git("commit", "-qm", "bad")
    hook(here)
    done = commit(here, *words)
    assert (done.returncode, done.stderr) == (0, "git-agent: not checked: nothing is staged\n")
    assert (here.repo.git("log", "-1", "--format=%s"), here.calls()) == ("m", [])


@pytest.mark.parametrize(
    "words",
    [("rebase", "-q", "-x", "git f", "HEAD~1"), ("-c", "alias.g=!git f", "g"), ("-c", "alias.g=f", "g")],
    ids=["rebase", "alias", "alias of an alias"],
)
def test_a_git_that_runs_a_person_s_own_command_is_no_hook(here: Cli, words: tuple[str, ...]) -> None:
    """It was taken for one: nothing was checked, or the fix was not believed."""
    here.repo.git("config", "alias.f", f"agent fix -e codex --check '{CHECK}'")
    here.repo.git("commit", "-qm", "bad")
    env = here.environ(FAKE_CMD=MEND)
    done = subprocess.run(("git", *words), cwd=here.repo.path, env=env, capture_output=True, text=True, check=False)
    assert "fixed 1 file: f (codex, run " in done.stdout, done
    assert "commit again" not in done.stderr + done.stdout
    assert text(here) == "1\n2\ngood\n4\n5\n"


def test_an_agent_s_own_commit_starts_no_other(here: Cli) -> None:
    """Inside a run: its agent is the one to fix it, and nothing is run in a hook that is switched off."""
    hook(here)
    env = here.environ(GIT_AGENT_HANDLE="aaaaaaaa")
    words = ("git", "commit", "-q", "-m", "m")
    done = subprocess.run(words, cwd=here.repo.path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, here.calls()) == (1, [])
    assert "inside run aaaaaaaa no other agent is started: make it pass yourself" in done.stderr
    env = here.environ(GIT_AGENT_SKIP="1")
    subprocess.run(words, cwd=here.repo.path, env=env, check=True)
    assert here.calls() == []
