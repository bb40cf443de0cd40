"""Which of our parents is a git at work, and not the one that only starts `git agent`."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.review.fixing.held import Process, in_hook


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("git", "f"), False),
        (("git", "bisect", "run", "git", "agent", "fix"), False),
        (("git", "submodule", "foreach", "git agent fix"), False),
        (("git", "rebase", "main"), True),
        (("git", "agent", "fix"), False),
        (("git", "-C", "x", "-c", "a.b=c", "agent", "fix"), False),
        (("git", "commit", "-m", "agent"), True),
        (("/usr/bin/git", "-C", "agent", "push"), True),
    ],
)
def test_a_git_that_starts_us_is_not_at_work(words: tuple[str, ...], *, expected: bool) -> None:
    assert in_hook({}, "/nowhere", [Process(2, 0.0, words)]) is expected


def test_the_git_above_the_one_that_starts_us_is_seen() -> None:
    words = [("git", "agent", "fix"), ("sh", "-c", "git agent fix"), ("git", "push")]
    assert in_hook({}, "/nowhere", [Process(number, 0.0, each) for number, each in enumerate(words, 2)])


@pytest.mark.parametrize(("done", "expected"), [("pick 1\nexec git agent fix\n", False), ("exec x\npick 1\n", True)])
def test_a_rebase_runs_commands_of_the_person_s_and_hooks(tmp_path: Path, done: str, *, expected: bool) -> None:
    (tmp_path / "rebase-merge").mkdir()
    (tmp_path / "rebase-merge/done").write_text(done)
    assert in_hook({}, str(tmp_path), [Process(2, 0.0, ("git", "rebase", "-x", "git agent fix"))]) is expected
