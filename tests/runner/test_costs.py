"""What a command must not do because it costs too much: modules loaded, git processes, files read. Nothing is timed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from git_agent_runner import context, pruning
from git_agent_runner.pruning import Criteria
from git_agent_runner.store import cache
from git_agent_runner.store.cache import Row
from support.cli import Cli
from support.runs import leave


@pytest.mark.parametrize("command", ["status", "show"])
def test_a_subject_line_loads_no_library_of_git(cli: Cli, command: str) -> None:  # faults D4
    cli.begin("codex")
    code = f"import sys; from git_agent_runner import cli; cli.main([{command!r}]); print('git' in sys.modules)"
    done = subprocess.run(
        (sys.executable, "-P", "-c", code),
        cwd=cli.repo.path,
        env=cli.environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    *shown, loaded = done.stdout.splitlines()
    subject = cli.repo.git("log", "-1", "--format=%s")
    assert any(subject in line for line in shown)
    assert loaded == "False"


@pytest.mark.parametrize(
    ("criteria", "walked"),
    [
        pytest.param(Criteria(merged=True), ["aaaaaaaa"], id="merged"),
        pytest.param(Criteria(older_than=0), ["aaaaaaaa"], id="old"),
        pytest.param(Criteria(keep_size=0), ["aaaaaaaa", "bbbbbbbb"], id="size"),
    ],
)
def test_prune_walks_only_directories_whose_size_is_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, criteria: Criteria, walked: list[str]
) -> None:  # faults D2
    """The first run's branch is gone, the second one's is not merged."""
    leave(cli.repo, "aaaaaaaa", branch="gone")
    cli.repo.switch_new("feat")
    cli.repo.commit("work")
    leave(cli.repo, "bbbbbbbb")
    cli.repo.git("config", "branch.feat.agentHandle", "bbbbbbbb")
    monkeypatch.chdir(cli.repo.path)
    asked: list[str] = []

    def size(_ctx: context.Context, row: Row) -> int:
        asked.append(row.handle)
        return 1

    monkeypatch.setattr(pruning, "size", size)
    ctx = context.load()
    runs = pruning.choose(ctx, cache.listing(ctx.layout, 2.0**33).rows, criteria, 2.0**33)
    assert [run.row.handle for run in runs if not run.kept] == ["aaaaaaaa"]
    assert sorted(asked) == walked
