"""What each hook says and does at its event, and what it leaves alone."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from git_agent_hooks.install import install
from git_agent_hooks.place import find
from git_agent_runner import context
from support.cli import Cli
from support.gitrepo import GitRepo
from support.runs import leave

HANDLE = "0b01aaaa"


@pytest.fixture
def waiting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """Our hooks; a run that waits on `feature`; `main` checked out."""
    repo = cli.repo
    monkeypatch.chdir(repo.path)
    ctx = context.load(os.environ)
    install(ctx, find(ctx))
    repo.switch_new("feature")
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 3 * 3600 - 60))
    leave(repo, HANDLE, updated_at=now)
    repo.commit("work", g="1\n")
    repo.git("switch", "-q", "main")
    repo.commit("beside", h="1\n")
    return repo


def on_terminal(repo: GitRepo, *words: str, **environ: str) -> str:
    """What a person sees of `git WORDS`."""
    eyes, terminal = pty.openpty()
    env = {**os.environ, **environ}
    process = subprocess.Popen(
        ("git", *words), cwd=repo.path, env=env, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            seen += os.read(eyes, 65536)
        except OSError:  # EIO: the last process has let go of the terminal
            break
    os.close(eyes)
    assert process.wait() == 0, seen
    return seen.decode()


HINT = f'git-agent: run {HANDLE} (codex, 3 h ago) is waiting on feature: git agent resume "<message>"'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("switch", "-q", "feature"), [HINT], id="switch"),
        pytest.param(("checkout", "-q", "feature"), [HINT], id="checkout"),
        pytest.param(("checkout", "-q", "feature", "--", "g"), [], id="file checkout"),
        pytest.param(("checkout", "-q", "--detach", "feature"), [], id="detached"),
        pytest.param(("switch", "-q", "-c", "new", "feature"), [], id="new branch"),
        pytest.param(("worktree", "add", "-q", "../linked", "feature"), [HINT], id="worktree add"),
        pytest.param(("rebase", "-q", "main", "feature"), [], id="rebase"),
    ],
)
def test_hint_on_a_terminal(waiting: GitRepo, words: tuple[str, ...], said: list[str]) -> None:
    """Case C06: the flag says what was checked out; a branch may be new with the commit the same."""
    seen = on_terminal(waiting, *words)
    assert [line.strip() for line in seen.splitlines() if "git-agent" in line] == said


def test_no_hint_in_scripts_inside_a_run_or_when_silenced(waiting: GitRepo) -> None:
    done = subprocess.run(("git", "switch", "-q", "feature"), cwd=waiting.path, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    waiting.git("switch", "-q", "main")
    assert on_terminal(waiting, "switch", "-q", "feature", GIT_AGENT_HANDLE=HANDLE) == ""
    waiting.git("switch", "-q", "main")
    waiting.git("config", "agent.hints", "false")
    assert on_terminal(waiting, "switch", "-q", "feature") == ""


def test_a_clone_whose_template_has_our_hooks(waiting: GitRepo, tmp_path: Path) -> None:
    """Case C06: GIT_DIR names a repository that has nothing of ours yet."""
    words = ("clone", "-q", f"--template={waiting.path / '.git'}", str(waiting.path), str(tmp_path / "clone"))
    assert on_terminal(waiting, *words) == ""


def test_a_new_branch_with_the_name_of_a_deleted_one_is_not_hinted(waiting: GitRepo) -> None:
    """The pointer goes with the branch."""
    waiting.git("branch", "-q", "-D", "feature")
    assert on_terminal(waiting, "switch", "-q", "-c", "feature") == ""


@pytest.mark.parametrize(("switch", "trailers"), [("true", "Agent-Run: codex/{}\n"), ("false", "")])
def test_trailer_of_an_installed_hook(waiting: GitRepo, cli: Cli, switch: str, trailers: str) -> None:
    """A person's own commits have none, whatever the setting."""
    waiting.git("config", "agent.trailer", "true")
    assert cli.ok("hooks", "install").out == "installed prepare-commit-msg\n"
    waiting.git("config", "agent.trailer", switch)
    twice = "unset PYTHONPATH; git commit -q --allow-empty -m agents; git commit -q --amend --allow-empty --no-edit"
    cli.ok("start", "-e", "codex", "work", FAKE_CMD=twice)
    handle = cli.pointers()["main"]
    assert (
        waiting.git("log", "-1", "--format=%s%n%(trailers)").rstrip("\n")
        == f"agents\n{trailers.format(handle)}".rstrip()
    )
    waiting.commit("mine", f="2\n")
    assert waiting.git("log", "-1", "--format=%(trailers)") == ""


def test_a_problem_is_one_line_and_no_failure(waiting: GitRepo) -> None:
    """Notes cannot be written: the commit stands."""
    waiting.git("switch", "-q", "feature")
    (waiting.path / ".git/refs/notes/agent.lock").touch()
    done = subprocess.run(
        ("git", "commit", "-q", "--allow-empty", "-m", "mine"),
        cwd=waiting.path,
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("git-agent: the note could not be written: refs/notes/agent cannot be updated")
    waiting.git("config", "agent.hints", "false")
    done = subprocess.run(
        ("git", "commit", "-q", "--allow-empty", "-m", "mine"),
        cwd=waiting.path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def test_a_bug_of_ours_leaves_a_trace_and_gits_command_alone(cli: Cli, tmp_path: Path) -> None:
    broken = "import git_agent_hooks.record as r, git_agent_hooks.main as m; r.record = lambda _: 1 / 0"
    code = f"{broken}; raise SystemExit(m.installed(['post-commit']))"
    env = {**cli.environ(), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        (sys.executable, "-c", code), cwd=cli.repo.path, env=env, capture_output=True, text=True, check=False
    )
    (trace,) = tmp_path.glob("git-agent-bug-*.txt")
    expected = f"git-agent: a bug in git-agent's post-commit hook; its trace was saved to {trace}; please report it\n"
    assert (done.returncode, done.stderr) == (0, expected)
    assert "ZeroDivisionError" in trace.read_text()


def test_the_index_and_tracked_files_are_never_written(waiting: GitRepo) -> None:
    waiting.git("switch", "-q", "feature")
    (waiting.path / "staged").write_text("1\n")
    waiting.git("add", "staged")
    (waiting.path / "staged").write_text("2\n")
    waiting.git("commit", "-q", "--allow-empty", "-m", "mine", "--", "g")
    assert waiting.git("status", "--porcelain") == "AM staged"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        pytest.param("agent.hints", "maybe", "Invalid agent.hints in ", id="hints"),
        pytest.param("agent.stallAfter", "bogus", "Invalid agent.stallAfter in ", id="another"),
        pytest.param("include.path", "../settings", "agent.engine comes from ", id="tracked"),
    ],
)
def test_a_bad_setting_is_told_once_and_the_commit_recorded(waiting: GitRepo, key: str, value: str, told: str) -> None:
    (waiting.path / "settings").write_text("[agent]\n\tengine = codex\n")
    waiting.git("config", key, value)
    waiting.git("switch", "-q", "feature")
    words = ("git", "commit", "-q", "--allow-empty", "-m", "mine")
    (line,) = subprocess.run(words, cwd=waiting.path, capture_output=True, text=True, check=True).stderr.splitlines()
    assert line.startswith(f"git-agent: {told}")
    assert HANDLE in waiting.git("notes", "--ref=agent", "show", "HEAD")
    waiting.git("config", "agent.hints", "false")
    assert subprocess.run(words, cwd=waiting.path, capture_output=True, text=True, check=True).stderr == ""
    assert HANDLE in waiting.git("notes", "--ref=agent", "show", "HEAD")
