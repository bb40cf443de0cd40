"""`git agent doctor` names changes that a killed hook manager never restored, where that is certain (faults F4b)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.cli import Cli
from support.runs import leave


@pytest.fixture
def aside(cli: Cli) -> Path:
    """A patch, and the work tree, as pre-commit leaves them when it is killed."""
    leave(cli.repo, "aaaaaaaa")
    file, patch = cli.repo.path / "f", cli.home / ".cache/pre-commit/patch1795931589-4194303"
    file.write_text("1\nmine\n")
    patch.parent.mkdir(parents=True)
    patch.write_text(cli.repo.git("diff", "--binary") + "\n")
    cli.repo.git("checkout", "--", ".")
    moment = file.stat().st_ctime - 0.5
    os.utime(patch, (moment, moment))
    return patch


def problems(cli: Cli) -> list[str]:
    done = cli.run("doctor", "--json", HOME=str(cli.home), stdin=None, cwd=None)
    return [found["fix"] for found in done.json["problems"] if found["code"] == "changes_put_aside"]


def test_changes_that_were_never_put_back_are_named(cli: Cli, aside: Path) -> None:
    (fix,) = problems(cli)
    subprocess.run(fix.partition(";")[0], shell=True, cwd="/", check=True)  # as a person pastes it
    assert (cli.repo.path / "f").read_text() == "1\nmine\n"
    assert problems(cli) == []


def test_what_was_put_back_and_discarded_is_not(cli: Cli, aside: Path) -> None:
    """The file was written again since."""
    later = aside.stat().st_mtime - 60
    os.utime(aside, (later, later))
    assert problems(cli) == []


def test_nor_is_that_of_another_repository_or_of_a_manager_at_work(cli: Cli, aside: Path) -> None:
    assert problems(cli)
    own = aside.rename(aside.with_name(f"patch1795931589-{os.getpid()}"))
    assert problems(cli) == []
    text = own.read_text()
    own.rename(aside).write_text(text.replace("index ", "index 1234567"))
    moment = (cli.repo.path / "f").stat().st_ctime - 0.5
    os.utime(aside, (moment, moment))
    assert problems(cli) == []
