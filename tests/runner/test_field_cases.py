"""Field cases (public bug reports) that are about the whole program; the others stand beside what they are about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.spec import Launch, Version
from support.cli import Cli
from support.gitrepo import make

NEWEST: dict[str, Version] = {
    "codex": (0, 171, 0),
    "claude": (2, 1, 332),
    "gemini": (0, 61, 0),
    "opencode": (1, 18, 33),
    "iflow": (0, 5, 19),
    "qwen": (0, 24, 4),
    "copilot": (1, 0, 102),
}
# anomalyco/opencode#20799: a UUID is no session id of opencode.
UUID = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"


def test_a19_a_session_value_of_another_engine_is_refused_before_launch(cli: Cli) -> None:
    begun = cli.begin("opencode")
    calls = len(cli.calls())
    done = cli.run("resume", "--session", UUID, "x")
    assert (done.status, done.lines[0]) == (128, f"fatal: '{UUID}' is not a session id of opencode")
    assert (len(cli.calls()), cli.record().session) == (calls, begun.session)


def test_a19_silence_is_no_success(cli: Cli, tmp_path: Path) -> None:
    begun = cli.begin("opencode")
    silent = tmp_path / "silent"
    silent.touch()
    done = cli.run("resume", "x", FAKE_OUT=str(silent))
    assert (done.status, cli.record().status, cli.record().session) == (1, "no_output", begun.session)


def test_a22_iflow_names_its_session_and_message_and_has_no_stdin() -> None:
    """iflow-ai/iflow-cli#196: `-r … -p` hung while it could read a terminal."""
    session = "session-c0ffee00-0016-4aaa-9bbb-0123456789ab"
    made = load("iflow").resume(Launch("iflow", NEWEST["iflow"], (), "go on", session, "/w", "/w"))
    places = [made.argv.index(word) for word in ("-r", session, "-p")]
    assert (places, made.stdin) == (sorted(places), None)


@pytest.mark.parametrize("engine", list(MODULES))
@pytest.mark.parametrize(
    "message",
    [
        pytest.param("- [ ] do the thing", id="bullet"),
        pytest.param("---\ntitle: x\n---\nbody", id="front matter"),
        pytest.param("--help", id="help"),
        pytest.param("-", id="dash"),
        pytest.param("@file.txt", id="at"),
        pytest.param("/clear", id="slash"),
    ],
)
def test_a32_a_message_reaches_the_engine_as_text(engine: str, message: str) -> None:
    """On stdin, as `--prompt=<message>`, or after `--`; what a version would swallow is refused by name."""
    known = load(engine)
    if message == "/clear" and engine in ("claude", "qwen"):
        with pytest.raises(UserError, match="command of its own"):
            known.check_message(NEWEST[engine], message)
        return
    known.check_message(NEWEST[engine], message)
    made = known.start(Launch(engine, NEWEST[engine], (), message, known.mint(NEWEST[engine]), "/w"))
    words = [word for word in made.argv if message in word]
    if made.stdin is not None:
        assert made.stdin == message.encode()
        assert message == "-" or words == []
    elif message.startswith("-") or engine == "qwen":
        assert f"--prompt={message}" in made.argv
    else:
        assert made.argv[made.argv.index("-p") + 1] == message


def test_b01_resume_works_after_amend_and_rebase(cli: Cli) -> None:
    cli.repo.git("config", "notes.rewriteRef", "refs/notes/mine")
    cli.repo.switch_new("topic")
    cli.repo.commit("work", work="1")
    begun = cli.begin()
    cli.repo.git("commit", "-q", "--amend", "-m", "amended")
    cli.ok("resume", "one")
    cli.repo.git("switch", "-q", "main")
    cli.repo.commit("elsewhere", other="2")
    cli.repo.git("rebase", "-q", "main", "topic")
    cli.repo.git("config", "--unset", "branch.topic.agentHandle")  # by the note alone
    cli.ok("resume", "two")
    assert [call["argv"].count(begun.session.value) for call in cli.calls()] == [0, 1, 1]
    assert cli.repo.git("config", "--get-all", "notes.rewriteRef") == "refs/notes/mine\nrefs/notes/agent"


def test_b03_two_runs_in_one_note_and_the_newest_goes_on(cli: Cli) -> None:
    """A fixup joins the notes of two commits with a blank line between (git's rewriteMode default)."""
    cli.repo.switch_new("topic")
    cli.repo.commit("work", work="1")
    cli.begin("codex")
    cli.repo.commit("fixup! work", work="2")
    newest = cli.begin("claude")
    cli.repo.git("rebase", "-q", "-i", "--autosquash", "main", env={"GIT_SEQUENCE_EDITOR": ":"})
    cli.repo.git("config", "--unset", "branch.topic.agentHandle")
    text = cli.repo.git("notes", "--ref=agent", "show", "HEAD")
    assert [line[:3] for line in text.split("\n")] == ["- {", "", "- {"]
    assert cli.ok("resume", "--json", "x").json["handle"] == newest.handle


def test_b11_a_new_branch_of_a_dead_name_has_no_run(cli: Cli) -> None:
    cli.repo.switch_new("old")
    begun = cli.begin()
    cli.repo.git("branch", "-m", "new")
    assert cli.ok("resume", "--json", "x").json["handle"] == begun.handle
    cli.repo.git("branch", "old", "main~1")
    cli.repo.git("switch", "-q", "old")
    done = cli.run("resume", "x")
    assert (done.status, done.lines[0]) == (128, "fatal: no run found for branch 'old'")


def test_b16_names_of_64_characters(isolated: Path, tmp_path: Path) -> None:
    repo = make(tmp_path / "long", "--object-format=sha256")
    head = repo.commit("first")
    cli = Cli(repo, isolated)
    begun = cli.begin()
    assert (len(head), begun.start_commit) == (64, head)
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")
    assert cli.ok("resume", "--json", "x").json["handle"] == begun.handle
    assert cli.ok("list").out.count("missing") == 0


def test_d07_a_repository_of_somebody_else(cli: Cli) -> None:
    """Git's own test switch for another owner; the words and the remedy are git's."""
    done = cli.run("resume", "x", GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert done.status == 128
    assert "fatal: detected dubious ownership in repository" in done.err
    assert "git config --global --add safe.directory" in done.err
    assert "Traceback" not in done.err
    assert "safe.directory" not in cli.repo.git("config", "--list")


SNAPSHOTS = """
import pytest
@pytest.mark.parametrize("name", ["start", "resume", "list"])
def test_{0}(name, snapshot):
    assert name == snapshot
"""


def test_d13_snapshots_are_kept_and_orphans_found_with_and_without_xdist(tmp_path: Path) -> None:
    """syrupy below 5.5 let an orphaned snapshot pass under xdist; the first fix failed partial runs."""
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(SNAPSHOTS.format(name))
    assert pytest_in(tmp_path, "--snapshot-update") == 0
    assert [pytest_in(tmp_path), pytest_in(tmp_path, "-n2"), pytest_in(tmp_path, "-n2", "-k", "resume")] == [0, 0, 0]
    text = (tmp_path / "test_two.py").read_text()
    (tmp_path / "test_two.py").write_text(text.replace(', "list"', ""))
    assert [pytest_in(tmp_path), pytest_in(tmp_path, "-n2")] == [1, 1]
    assert "test_two[list]" in (tmp_path / "__snapshots__/test_two.ambr").read_text()


def pytest_in(folder: Path, *words: str) -> int:
    plugins = ("-p", "syrupy", "-p", "xdist")
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *plugins,
        "-c",
        os.devnull,
        f"--rootdir={folder}",
        *words,
        str(folder),
    )
    # Not as a worker of the run that this test is part of: a worker leaves orphans to its controller.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # The other plugins that are installed take most of the time; what old runs left is removed by those who left it.
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_DEBUG_TEMPROOT": str(folder)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False).returncode
