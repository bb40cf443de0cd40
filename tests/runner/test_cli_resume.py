"""Which run is resumed, where, and with which flags; and what `--dry-run` says of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import PROGRAM, Cli
from support.gitrepo import GitRepo, make

ENGINES = ["codex", "claude", "gemini", "opencode", "iflow", "qwen", "copilot"]


def asked(cli: Cli) -> str:
    """The session that the last stand-in was asked to resume."""
    argv: list[str] = cli.calls()[-1]["argv"]
    names = [word for word in argv if word in ("resume", "--resume", "-r")]
    return argv[argv.index(names[0]) + 1] if names else next(w.split("=")[1] for w in argv if "=" in w)


@pytest.mark.parametrize("engine", ENGINES)
def test_this_branch(cli: Cli, engine: str) -> None:
    begun = cli.begin(engine)
    done = cli.ok("resume", "go on")
    attempt = cli.attempt(2)
    assert asked(cli) == begun.session.value
    assert (attempt.kind, attempt.status, attempt.resumed, attempt.session) == (
        "resume",
        "completed",
        "yes",
        begun.session,
    )
    assert cli.record()._replace(updated_at="") == begun._replace(attempts=2, updated_at="")
    assert [re.sub(r"\d+ s, exit", "N s, exit", line) for line in done.err.splitlines()[-4:]] == [
        f"handle    {begun.handle}   {engine} · {begun.session.field} {begun.session.value}",
        f"branch    main @ {cli.repo.head()[:7]}",
        f"run       .git/{begun.run_directory}  attempt 2, N s, exit 0",
        'resume    git agent resume "<message>"',
    ]


def amend(repo: GitRepo) -> None:
    repo.git("commit", "-q", "--amend", "-m", "amended")


def rebase(repo: GitRepo) -> None:
    repo.git("checkout", "-q", "main")
    repo.commit("beside", g="g\n")
    repo.git("checkout", "-q", "feature")
    repo.git("rebase", "-q", "main")


def rename(repo: GitRepo) -> None:
    repo.git("branch", "-m", "feature", "renamed/branch")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        pytest.param(amend, True, id="amended"),
        pytest.param(amend, False, id="amended, no pointer"),
        pytest.param(rebase, True, id="rebased"),
        pytest.param(rebase, False, id="rebased, no pointer"),
        pytest.param(rename, True, id="renamed"),
    ],
)
def test_after_git_changed_the_branch(cli: Cli, change: Callable[[GitRepo], None], pointer: bool) -> None:
    cli.repo.switch_new("feature")
    cli.repo.commit("c3", h="h\n")
    begun = cli.begin(FAKE_ID="new")
    if not pointer:
        cli.repo.git("config", "--unset", "branch.feature.agentHandle")
    change(cli.repo)
    cli.ok("resume", "go on")
    branch = cli.repo.git("branch", "--show-current")
    assert (asked(cli), cli.record().branch, cli.pointers()) == (begun.session.value, branch, {branch: begun.handle})


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["{handle}"], id="handle"),
        pytest.param(["{prefix}"], id="prefix"),
        pytest.param(["--handle", "{prefix}"], id="--handle with a prefix"),
        pytest.param(["--branch", "feature"], id="--branch"),
        pytest.param(["--commit", "feature"], id="--commit"),
        pytest.param(["--commit", "HEAD", "--branch", "feature"], id="--commit and --branch"),
    ],
)
def test_by_name(cli: Cli, words: list[str]) -> None:
    """From another branch's work tree; the run works where its own branch is."""
    other = cli.repo.worktree(cli.repo.path.parent / "other", "feature")
    there = Cli(other, cli.home)
    other.commit("c3", h="h\n")
    begun = there.begin(FAKE_ID="new")
    mine = cli.begin(FAKE_ID="new")
    if words[1:2] == ["HEAD"]:
        cli.repo.git("merge", "-q", "feature")
    words = [word.format(handle=begun.handle, prefix=begun.handle[:5]) for word in words]
    done = cli.ok("resume", *words, "go on")
    assert (asked(cli), cli.calls()[-1]["cwd"]) == (begun.session.value, str(other.path))
    assert cli.pointers() == {"main": mine.handle, "feature": begun.handle}
    assert f'resume    git agent resume {begun.handle} "<message>"' in done.err


def test_the_note_lies_on_the_branch_that_was_worked_on(cli: Cli) -> None:
    other = cli.repo.worktree(cli.repo.path.parent / "other", "feature")
    begun = Cli(other, cli.home).begin()
    commit = "git commit -q --allow-empty -m c4"
    cli.ok("resume", begun.handle, "go on", FAKE_CMD=commit)
    listed = cli.repo.git("notes", "--ref=agent", "list").split("\n")
    tips = [cli.repo.git("rev-parse", name) for name in ("feature^", "feature")]
    assert sorted(line.split()[1] for line in listed) == sorted(tips)
    attempt = cli.attempt(2)
    assert [attempt.head_before, attempt.head_after] == tips


def test_inside_of_a_run(cli: Cli) -> None:
    begun = cli.begin(FAKE_ID="new")
    cli.begin(FAKE_ID="new")
    cli.ok("resume", "go on", GIT_AGENT_HANDLE=begun.handle)
    assert asked(cli) == begun.session.value


def test_from_a_subdirectory_of_a_path_with_blanks(tmp_path: Path, isolated: Path) -> None:
    repo = make(tmp_path / "a b'c \U0001f600")
    cli = Cli(repo, isolated)
    repo.commit("c1", f="a\n")
    (repo.path / "sub dir").mkdir()
    cli.begin("claude", cwd=repo.path / "sub dir")
    done = cli.ok("resume", "go on")
    assert [call["cwd"] for call in cli.calls()] == [str(repo.path / "sub dir")] * 2
    assert f"run       .git/{cli.record().run_directory}" in done.err


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pasted_dry_run_is_the_resume(cli: Cli, engine: str) -> None:
    (cli.repo.path / "a b").mkdir()
    cli.begin(engine, "--", "--model", "it's one", cwd=cli.repo.path / "a b")
    before = cli.state()
    message = 'say "it\'s" $HOME\n\tdone \x1b[31m\n'
    line = cli.ok("resume", "-n", message).out
    assert (cli.state(), len(cli.calls())) == (before, 1)
    environ = cli.environ()
    subprocess.run(("sh", "-c", line), cwd="/", env=environ, stdin=subprocess.DEVNULL, check=True, capture_output=True)
    cli.ok("resume", message)
    pasted, resumed = cli.calls()[1:]
    same = ("argv", "cwd", "stdin")
    assert [pasted[name] for name in same] == [resumed[name] for name in same]
    assert pasted["env"]["PWD"] == resumed["env"]["PWD"]


def test_dry_run_in_json(cli: Cli) -> None:
    begun = cli.begin("opencode")
    found = cli.ok("resume", "--dry-run", "--json", "go on").json
    assert (found["session"], found["kind"], found["stdin"], found["cwd"]) == (
        begun.session.value,
        "resume",
        "go on",
        str(cli.repo.path),
    )
    assert found["argv"][1:] == ["run", "--format", "json", f"--session={begun.session.value}", f"--dir={begun.cwd}"]


def test_flags_stay_in_force(cli: Cli) -> None:
    cli.repo.git("config", "--add", "agent.codex.args", "-c 'a=\"x y\"'")
    begun = cli.begin("codex", "--", "--sandbox", "read-only", "--model", "first")
    assert begun.launch_args == ("-c", 'a="x y"', "--sandbox", "read-only", "--model", "first")
    cli.ok("resume", "go on")
    cli.ok("resume", "again", "--", "--model", "second")
    cli.ok("resume", "and again")
    flags = [call["argv"][1 : call["argv"].index("--json")] for call in cli.calls()]
    old, new = [*begun.launch_args], ["-c", 'a="x y"', "--sandbox", "read-only", "--model", "second"]
    assert flags == [old, old, new, new]
    assert [*cli.record().launch_args] == new


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(["-C", "sub"], "-C after -- cannot be passed on to codex", id="a directory"),
        pytest.param(["--last"], "--last after -- cannot be passed on to codex", id="a selector"),
        pytest.param(["x"], "'x' after -- is not a flag of codex", id="a word"),
    ],
)
def test_flags_that_are_not_taken(cli: Cli, given: list[str], want: str) -> None:
    cli.begin()
    done = cli.run("resume", "go on", "--", *given)
    assert (done.status, done.lines[0], cli.record().attempts) == (129, f"fatal: {want}", 1)


def test_a_flag_that_the_installed_version_lost(cli: Cli) -> None:
    cli.begin("gemini", "--", "--checkpointing", FAKE_VERSION="0.10.0")
    (cli.home / ".cache/git-agent/probe-gemini.json").unlink()
    done = cli.run("resume", "go on")
    assert (done.status, cli.record().attempts) == (128, 1)
    assert done.lines == [
        "fatal: gemini 0.61.0 does not accept --checkpointing",
        "hint: this run was started with them by another version",
        "hint: or install a version that accepts them: npm install -g @google/gemini-cli",
    ]


def test_another_session(cli: Cli) -> None:
    """The one that the person gave is the run's, once the engine has said that it continues it."""
    first = cli.begin(FAKE_ID="new")
    second = cli.begin(FAKE_ID="new")
    assert second.session.value
    cli.ok("resume", first.handle, "--session", second.session.value, "go on")
    now = cli.record(first.handle)
    assert (asked(cli), now.session, now.parent_session) == (
        second.session.value,
        second.session,
        first.session.value,
    )


def test_another_directory(cli: Cli, tmp_path: Path) -> None:
    cli.begin("codex")
    cli.ok("resume", "--cwd", str(tmp_path), "go on")
    assert (cli.calls()[-1]["cwd"], cli.record().cwd) == (str(tmp_path), str(cli.repo.path))


@pytest.mark.parametrize("engine", ["gemini", "opencode", "qwen"])
def test_a_session_that_its_engine_keeps_by_directory_comes_along(cli: Cli, engine: str, tmp_path: Path) -> None:
    """faults B12: nothing of it is left behind, so the run stays there."""
    begun = cli.begin(engine)
    done = cli.ok("resume", "--cwd", str(tmp_path), "go on")
    assert f"session {begun.session.value} was put where {engine} looks for it in '{tmp_path}'" in done.err
    assert (asked(cli), cli.calls()[-1]["cwd"], cli.record().cwd) == (begun.session.value, *[str(tmp_path)] * 2)


def test_a_branch_that_is_not_checked_out(cli: Cli) -> None:
    cli.repo.switch_new("feature")
    begun = cli.begin()
    cli.repo.git("checkout", "-q", "main")
    done = cli.run("resume", begun.handle, "go on")
    assert (done.status, len(cli.calls())) == (128, 1)
    assert done.lines[:2] == [
        f"fatal: run {begun.handle} belongs to branch 'feature', but 'main' is checked out here",
        "hint: git switch feature",
    ]


def test_a_fresh_start_keeps_to_the_branch_too(cli: Cli) -> None:
    """There is no session, so only the place could be refused; and it is."""
    cli.repo.switch_new("feature")
    begun = cli.begin(FAKE_ID="none")
    cli.repo.git("checkout", "-q", "main")
    done = cli.run("resume", begun.handle, "--fallback", "fresh", "go on")
    assert (done.status, done.lines[0], len(cli.calls())) == (
        128,
        f"fatal: run {begun.handle} belongs to branch 'feature', but 'main' is checked out here",
        1,
    )


def test_verbose_says_how(cli: Cli) -> None:
    begun = cli.begin()
    said = [line for line in cli.ok("resume", "-v", "go on").lines if line.startswith("git-agent:")]
    assert said == [
        f"git-agent: run {begun.handle}: the pointer branch.main.agentHandle",
        f"git-agent: resuming session {begun.session.value}",
    ]
    assert "git-agent:" not in cli.ok("resume", "go on").err


def test_engines_own_bytes_pass_through(cli: Cli, tmp_path: Path) -> None:
    printed = b'{"type":"thread.started","thread_id":"01a21f23-5ab8-7ef1-9437-807dbdda8fbf"}\n\x1b[31m\xff\r\n'
    path = tmp_path / "out"
    path.write_bytes(printed)
    done = subprocess.run(
        [*PROGRAM, "start", "-e", "codex", "x"],
        cwd=cli.repo.path,
        env=cli.environ(FAKE_OUT=str(path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.stdout == printed
    kept = os.path.join(cli.layout.attempt(cli.record().run_id, 1), "stdout")
    assert Path(kept).read_bytes() == printed
