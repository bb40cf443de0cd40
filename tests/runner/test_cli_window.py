"""`resume --terminal`: in a real tmux (where there is one), and what is said where no window can be opened."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.cli import Cli, Done
from support.waiting import PATIENCE


class Tmux:
    """A tmux server of the test's own, with one session, whose environment has none of the engines' programs."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        program = shutil.which("tmux", path=cli.environ()["PATH"])
        assert program
        self.words = (program, "-S", str(cli.home / "tmux"), "-f", os.devnull)
        self.ask("new-session", "-d", "-x", "500", "-y", "50", "exec sleep 600")
        self.environ = {"TMUX": self.ask("display-message", "-p", "#{socket_path},#{pid},0").strip()}

    def ask(self, *words: str) -> str:
        env = self.cli.environ(PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin")
        return subprocess.run((*self.words, *words), env=env, check=True, capture_output=True, text=True).stdout

    def run(self, *words: str, **environ: str) -> Done:
        return self.cli.run(*words, stdin=None, cwd=None, **self.environ, **environ)

    def windows(self) -> int:
        return len(self.ask("list-windows").splitlines())

    def screen(self, until: str) -> str:
        """The new window, once it shows that."""
        return until_true(lambda: self.ask("capture-pane", "-p", "-t", ":1"), lambda text: until in text)


def until_true(look: Callable[[], str], good: Callable[[str], bool]) -> str:
    deadline = time.monotonic() + PATIENCE
    while not good(found := look()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


@pytest.fixture
def tmux(cli: Cli) -> Iterator[Tmux]:
    server = Tmux(cli)
    yield server
    server.ask("kill-server")


def test_the_session_opens_in_a_new_window_and_is_recorded(tmux: Tmux) -> None:
    cli = tmux.cli
    begun = cli.begin("codex", "--", "--model", "it's; $(touch canary)")
    done = tmux.run("resume", "--terminal", "--json")
    found = done.json
    assert (found["opened"], found["terminal"], found["strategy"]) == (True, "tmux", "resumeByID")
    assert found["command"] == f"cd {cli.repo.path} && git agent resume {begun.handle} -i"
    tmux.screen("ready")
    assert cli.attempt(2).ended_at is None
    tmux.ask("send-keys", "-t", ":1", "Enter")
    until_true(lambda: str(cli.attempt(2).resumed), "yes".__eq__)
    assert cli.calls()[-1]["argv"] == found["argv"][1:]
    assert cli.calls()[-1]["cwd"] == str(cli.repo.path)
    until_true(lambda: str(tmux.windows()), "1".__eq__)
    assert cli.repo.git("status", "--porcelain") == ""


def test_message_and_options_go_along(tmux: Tmux) -> None:
    begun = tmux.cli.begin("claude")
    message = "-a\n; touch canary; $(touch canary) 'it' \"is\" \\ !! #{x} é;"
    done = tmux.run(
        "resume", "--handle", begun.handle[:5], "--terminal", "--message", message, "-v", "--", "--model", "m;"
    )
    assert done.lines[-1] == f"git-agent: {begun.handle} opens in a new window of tmux"
    tmux.screen("ready")
    argv = tmux.cli.calls()[-1]["argv"]
    assert argv[argv.index("--model") + 1] == "m;"
    assert argv[-1] == message
    tmux.ask("send-keys", "-t", ":1", "Enter")
    until_true(lambda: str(tmux.cli.attempt(2).resumed), "yes".__eq__)
    assert tmux.cli.repo.git("status", "--porcelain") == ""


def test_from_a_directory_with_a_hostile_name(tmux: Tmux) -> None:
    odd = tmux.cli.repo.path / "-$(touch canary);'\"\\\n#{x} #(touch canary)"
    odd.mkdir()
    tmux.cli.begin("codex", cwd=odd)
    assert tmux.run("resume", "--terminal").status == 0
    tmux.screen("ready")
    assert tmux.cli.calls()[-1]["cwd"] == str(odd)
    assert not list(tmux.cli.repo.path.rglob("canary"))


def test_a_directory_that_is_gone_by_then_is_said_in_the_window(tmux: Tmux) -> None:
    """What the dry run shows is what would be run; meanwhile the directory goes."""
    sub = tmux.cli.repo.path / "sub"
    sub.mkdir()
    tmux.cli.begin("codex", cwd=sub)
    argv = tmux.run("resume", "--terminal", "--dry-run", "--json").json["launcher"]
    sub.rmdir()
    subprocess.run(argv, check=True, env=tmux.cli.environ(**tmux.environ))
    text = tmux.screen("press Enter to close this window")
    assert text.splitlines()[0] == f"fatal: there is no directory '{sub}'"
    tmux.ask("send-keys", "-t", ":1", "Enter")
    until_true(lambda: str(tmux.windows()), "1".__eq__)
    assert len(tmux.cli.calls()) == 1


def test_a_failure_in_the_window_stays_to_be_read(tmux: Tmux) -> None:
    begun = tmux.cli.begin()
    argv = tmux.run("resume", "--terminal", "-n", "--json").json["launcher"]
    shutil.rmtree(tmux.cli.home / ".codex/sessions")
    shutil.rmtree(Path(tmux.cli.layout.run(begun.run_id)) / "session", ignore_errors=True)
    subprocess.run(argv, check=True, env=tmux.cli.environ(**tmux.environ))
    assert "fatal: session" in tmux.screen("press Enter to close this window")


@pytest.mark.parametrize("words", [[], ["--strict"], ["x"]])
def test_what_cannot_be_resumed_is_told_here(tmux: Tmux, words: list[str]) -> None:
    tmux.cli.begin(FAKE_ID="none")
    done = tmux.run("resume", "--terminal", *words)
    assert (done.status, "has no session id" in done.lines[0]) == (128, True)
    assert tmux.windows() == 1


def test_the_picker_has_its_terminal_there(tmux: Tmux) -> None:
    begun = tmux.cli.begin(FAKE_ID="none")
    found = tmux.run("resume", "--terminal", "--fallback", "picker", "--json").json
    assert (found["strategy"], found["fallbackCode"]) == ("interactivePicker", "session_unknown")
    assert found["command"].endswith(f"git agent resume {begun.handle} -i --fallback=picker")
    tmux.screen("ready")
    assert tmux.cli.calls()[-1]["argv"] == ["resume", "--no-daemon"]


def test_a_branch_without_a_run_starts_one_there(tmux: Tmux) -> None:
    tmux.cli.repo.git("config", "agent.engine", "claude")
    found = tmux.run("resume", "--terminal", "--fallback", "fresh", "--json").json
    assert (found["handle"], found["strategy"], found["fallbackCode"]) == (None, "startFresh", "no_run")
    tmux.screen("ready")
    assert tmux.cli.attempt(1).interactive


def test_a_server_that_is_gone(cli: Cli) -> None:
    begun = cli.begin()
    cli.repo.git("config", "agent.terminal", "tmux")
    done = cli.run("resume", "--terminal", TMUX_TMPDIR=str(cli.home))
    assert done.status == 128
    assert done.lines[0].startswith("fatal: tmux did not open a window: ")
    assert done.lines[-1] == f"hint: or open it yourself: cd {cli.repo.path} && git agent resume {begun.handle} -i"


def test_no_terminal_is_known(cli: Cli) -> None:
    begun = cli.begin()
    done = cli.run("resume", "--terminal", "--json")
    error = done.json["error"]
    assert (done.status, error["code"]) == (128, "terminal_unknown")
    assert error["hints"][-1].endswith(f"git agent resume {begun.handle} -i")


def test_the_dry_run_can_be_pasted(tmux: Tmux) -> None:
    tmux.cli.begin()
    done = tmux.run("resume", "--terminal", "-n")
    assert tmux.windows() == 1
    subprocess.run(("sh", "-c", done.out), check=True, env=tmux.cli.environ(**tmux.environ), cwd="/")
    assert shlex.split(done.out)[1:3] == ["new-window", "--"]
    tmux.screen("ready")


@pytest.mark.parametrize("words", [["-i"], ["--all"]])
def test_which_terminal_is_said_once(cli: Cli, words: list[str]) -> None:
    done = cli.run("resume", "--terminal", *words)
    assert (done.status, "cannot be used together" in done.lines[0]) == (129, True)


def test_a_run_that_is_going_on_is_ended_first(tmux: Tmux) -> None:
    cli = tmux.cli
    begun = cli.begin()
    process = cli.start("resume", "again", FAKE_CMD="sleep 600")
    until_true(lambda: json.dumps(len(cli.calls())), "2".__eq__)
    refused = tmux.run("resume", "--terminal")
    assert f"run {begun.handle} is still running" in refused.lines[0]
    assert tmux.run("resume", "--terminal", "--kill").status == 0
    process.communicate(timeout=PATIENCE)
    tmux.screen("ready")
    assert cli.attempt(3).interactive


def test_a_hand_over_is_done_in_the_window(tmux: Tmux) -> None:
    begun = tmux.cli.begin("claude")
    dry = tmux.run("resume", "-e", "codex", "--terminal", "-n")
    assert "would be handed over to codex as session" in dry.err
    found = tmux.run("resume", "-e", "codex", "--terminal", "--json").json
    assert found["command"].endswith(f"git agent resume {begun.handle} -i --engine=codex")
    tmux.screen("ready")
    assert (tmux.cli.record().agent_name, tmux.cli.attempt(2).interactive) == ("codex", True)
