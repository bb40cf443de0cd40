"""`git agent hooks` where the hooks, or their directory, are not what they usually are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_hooks import shim
from git_agent_hooks.install import HOOKS
from support.cli import Cli


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def states(cli: Cli, cwd: Path | None = None) -> set[str]:
    return {one["state"] for one in cli.ok("hooks", "status", "--json", cwd=cwd).json["hooks"]}


def directory_is_a_file(hooks: Path) -> None:
    hooks.write_text("")


def directory_leads_nowhere(hooks: Path) -> None:
    (hooks.parent / "nowhere").write_text("")
    hooks.symlink_to("nowhere")


def hook_is_a_directory(hooks: Path) -> None:
    (hooks / "post-commit").mkdir(parents=True)


def hook_is_a_pipe(hooks: Path) -> None:
    hooks.mkdir()
    os.mkfifo(hooks / "post-commit")


ODD = [directory_is_a_file, directory_leads_nowhere, hook_is_a_directory, hook_is_a_pipe]


@pytest.mark.parametrize("odd", ODD)
def test_what_git_could_not_run_is_named(cli: Cli, odd: Callable[[Path], None]) -> None:
    hooks = cli.repo.path / ".git/hooks"
    odd(hooks)
    done = cli.run("hooks", "install")
    assert (done.status, [line.partition(":")[0] for line in done.lines]) == (128, ["fatal", "hint"])
    assert str(hooks) in done.lines[0]
    assert states(cli) == {"absent"}
    assert cli.ok("hooks", "uninstall").out == "none of our hooks is installed\n"
    assert os.path.lexists(hooks)


def test_a_directory_that_we_may_not_write(cli: Cli) -> None:
    """Its hook cannot be moved away: nothing has changed."""
    hooks = cli.repo.path / ".git/hooks"
    script(hooks / "post-commit", "echo mine")
    (cli.repo.path / f".git/hooks{shim.CHAINED}").write_text("in the way")
    done = cli.run("hooks", "install")
    assert (done.status, len(done.lines)) == (128, 1)
    assert done.lines[0].startswith(f"fatal: cannot change '{hooks}{shim.CHAINED}")
    assert (hooks / "post-commit").read_text() == "#!/bin/sh\necho mine\n"


def test_a_link_to_a_directory_of_the_work_tree(cli: Cli) -> None:
    """Files that are tracked, or somebody else's: nothing is written there."""
    folder = cli.repo.path / "githooks"
    folder.mkdir()
    (cli.repo.path / ".git/hooks").symlink_to("../githooks")
    done = cli.run("hooks", "install")
    assert (done.status, "is a link: that directory is not this repository's own" in done.err) == (128, True)
    assert list(folder.iterdir()) == []
    for where, line in zip(done.out.splitlines()[::2], done.out.splitlines()[1::2], strict=True):
        script(Path(where.removeprefix("# ")), line)
    assert states(cli) == {"installed"}
    cli.begin()
    cli.repo.commit("two", f="2\n")
    assert len(cli.noted()) == 2


def test_a_relative_hooks_path_in_a_linked_work_tree(cli: Cli, tmp_path: Path) -> None:
    """There `.git` is a file, and git finds no hook: ours are put where the main work tree has them."""
    cli.repo.git("config", "core.hooksPath", ".git/hooks")
    linked = cli.repo.worktree(tmp_path / "linked", "feature")
    done = cli.ok("hooks", "install", cwd=linked.path)
    assert done.out == f"installed {', '.join(HOOKS)}\n"
    hooks = cli.repo.path / ".git/hooks"
    told = f"core.hooksPath is '.git/hooks' (set in '{cli.repo.path / '.git/config'}'): git finds no hooks in linked"
    assert done.lines[0].startswith(f"warning: {told}")
    assert done.lines[1] == f"hint: git config core.hooksPath {hooks}"
    cli.begin()
    cli.repo.commit("two", f="2\n")
    assert len(cli.noted()) == 2
    assert states(cli, linked.path) == {"installed"}
    cli.repo.git("config", "core.hooksPath", str(hooks))
    assert cli.ok("hooks", "status", cwd=linked.path).err == ""
    cli.ok("hooks", "uninstall", cwd=linked.path)
    assert not hooks.exists()


def test_a_hook_finds_what_it_finds_by_its_own_name(cli: Cli) -> None:
    """husky 4: one text for all hooks, which reads a file beside it and goes by the name it was called by."""
    hooks = cli.repo.path / ".git/hooks"
    script(hooks / "husky.sh", "echo $(basename $0) >>.git/log; cd $(dirname $0)/../..; pwd -P >>.git/log")
    script(hooks / "post-commit", '. "$(dirname "$0")/husky.sh"')
    (hooks / "post-merge").symlink_to("post-commit")
    (hooks / "post-checkout").symlink_to("../checked")
    script(cli.repo.path / ".git/checked", "echo checked >>.git/log")
    before = sorted(os.listdir(hooks))
    cli.ok("hooks", "install")
    cli.repo.commit("two", f="2\n")
    cli.repo.git("switch", "-q", "-c", "feature", "HEAD~1")
    cli.repo.git("merge", "-q", "main")
    top = f"{cli.repo.path}\n"
    assert (cli.repo.path / ".git/log").read_text() == f"post-commit\n{top}checked\npost-merge\n{top}"
    cli.ok("hooks", "install")
    cli.ok("hooks", "uninstall")
    assert sorted(os.listdir(hooks)) == before
    assert not Path(f"{hooks}{shim.CHAINED}").exists()


@pytest.mark.parametrize(
    ("setting", "file", "comment"),
    [
        pytest.param("company", "company/{}", "#!/bin/sh\n# agent/hooks/{}\n", id="sh"),
        pytest.param("", "lefthook.yml", "a:\n  # agent/hooks/{}\n", id="yaml"),
        pytest.param("", "lefthook.jsonc", '{{"a": 1 // agent/hooks/{}\n}}', id="jsonc"),
    ],
)
def test_a_comment_calls_nothing(cli: Cli, setting: str, file: str, comment: str) -> None:
    if setting:
        cli.repo.git("config", "core.hooksPath", setting)
    for name in HOOKS:
        path = cli.repo.path / file.format(name)
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as lines:
            lines.write(comment.format(name))
    cli.run("hooks", "install")
    assert states(cli) == {"managed"}


def test_what_git_may_not_execute_calls_nothing(cli: Cli) -> None:
    cli.repo.git("config", "core.hooksPath", "company")
    done = cli.run("hooks", "install")
    assert "hint: a new file starts with #!/bin/sh, and must be executable" in done.lines
    paths = [script(cli.repo.path / "company" / name, f"agent/hooks/{name}") for name in HOOKS]
    assert states(cli) == {"installed"}
    for path in paths:
        path.chmod(0o644)
    assert states(cli) == {"managed"}
