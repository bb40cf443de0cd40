"""`git agent hooks install` beside whatever is there, and out again."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_hooks import shim
from git_agent_hooks.install import HOOKS
from support.cli import Cli
from support.gitrepo import make


def hook(cli: Cli, name: str, text: str, where: str = ".git/hooks") -> Path:
    path = cli.repo.path / where / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Name -> mode and content (a link's target) of all files there."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, os.fsencode(path.readlink()))
        if path.is_symlink()
        else (path.stat().st_mode, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if not path.is_dir() or path.is_symlink()
    }


def states(cli: Cli) -> dict[str, str]:
    return {one["name"]: one["state"] for one in cli.ok("hooks", "status", "--json").json["hooks"]}


def test_install_twice_and_uninstall(cli: Cli) -> None:
    before = everything(cli.repo.path / ".git")
    assert cli.ok("hooks", "install").out == f"installed {', '.join(HOOKS)}\n"
    assert states(cli) == dict.fromkeys(HOOKS, "installed")
    modes = {stat.S_IMODE((cli.repo.path / ".git/hooks" / name).stat().st_mode) for name in HOOKS}
    assert modes == {0o755}
    assert cli.ok("hooks", "install").out == "all hooks are installed\n"
    assert cli.ok("hooks", "uninstall").out == f"removed {', '.join(HOOKS)}\n"
    left = everything(cli.repo.path / ".git")
    assert {name: left[name] for name in left if name != "agent/locks/hooks"} == before
    assert cli.ok("hooks", "uninstall").out == "none of our hooks is installed\n"


def test_what_was_there_goes_first_and_comes_back_byte_for_byte(cli: Cli) -> None:
    hook(cli, "post-commit", "#!/bin/sh\necho before >>log\nexit 3\r\n\xff")
    target = hook(cli, "checkout-script", '#!/bin/sh\necho "$@" >>checkouts\n', "scripts")
    (cli.repo.path / ".git/hooks/post-checkout").symlink_to(target)
    before = everything(cli.repo.path / ".git/hooks")
    cli.ok("hooks", "install")
    assert cli.ok("hooks", "status").out.count("another runs first") == 2
    cli.repo.commit("two", f="2\n")
    cli.repo.git("checkout", "-q", "-b", "feature")
    assert (cli.repo.path / "log").read_text() == "before\n"
    head = cli.repo.head()
    assert (cli.repo.path / "checkouts").read_text() == f"{head} {head} 1\n"
    cli.ok("hooks", "uninstall")
    assert everything(cli.repo.path / ".git/hooks") == before


def test_post_rewrite_tells_both(cli: Cli) -> None:
    hook(cli, "post-rewrite", '#!/bin/sh\necho "$1" >told; cat >>told\n')
    cli.ok("hooks", "install")
    old = cli.repo.head()
    cli.repo.git("commit", "-q", "--amend", "-m", "other")
    assert (cli.repo.path / "told").read_text() == f"amend\n{old} {cli.repo.head()}\n"


def test_the_other_hooks_status_is_gits(cli: Cli) -> None:
    """prepare-commit-msg may refuse a commit; ours must not let it through."""
    hook(cli, "prepare-commit-msg", "#!/bin/sh\nexit 7\n")
    cli.ok("hooks", "install")
    with pytest.raises(AssertionError):
        cli.repo.commit("two", f="2\n")
    assert cli.repo.git("log", "--format=%s") == "one"


def test_a_hook_in_the_way(cli: Cli) -> None:
    """Another tool has written over ours: whose the two are nobody here can know."""
    hook(cli, "post-commit", "#!/bin/sh\necho first >>log\n")
    cli.ok("hooks", "install")
    hook(cli, "post-commit", "#!/bin/sh\necho second >>log\n")
    before = everything(cli.repo.path / ".git/hooks")
    done = cli.run("hooks", "install")
    assert (done.status, done.lines[0].startswith("fatal: ")) == (128, True)
    assert "is not ours" in done.err
    kept = everything(cli.repo.path / ".git/hooks")
    assert {name: kept[name] for name in before} == before


@pytest.mark.parametrize("path", ["py env (x86)/it's", "ümläut \\ $HOME `x`", 'a"b'])
def test_odd_paths(cli: Cli, path: str, tmp_path: Path) -> None:
    """Case C16: the interpreter and the repository lie in places with blanks, quotes and what a shell would take."""
    python = tmp_path / path / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@" >>"$LOG"\n')
    python.chmod(0o755)
    moved = cli.repo.path.rename(tmp_path / path / "repo")
    hooks = moved / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "post-commit").write_text(shim.text("post-commit", str(python)))
    (hooks / "post-commit").chmod(0o755)
    assert b"\r" not in (hooks / "post-commit").read_bytes()
    subprocess.run(("git", "config", "branch.main.agentHandle", "0b01aaaa"), cwd=moved, check=True)
    env = {**os.environ, "LOG": str(tmp_path / "log")}
    subprocess.run(("git", "commit", "-q", "--allow-empty", "-m", "a b"), cwd=moved, env=env, check=True)
    called = (tmp_path / "log").read_text()
    assert called.startswith("-I -c import sys\n")
    assert called.endswith(" post-commit\n")


def test_the_bare_path_of_a_graphical_client(cli: Cli) -> None:
    """Case C05: no git-agent, no venv, no engine on PATH."""
    cli.begin()
    cli.ok("hooks", "install")
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": os.environ["HOME"],
        **{k: v for k, v in os.environ.items() if k[:4] == "GIT_"},
    }
    done = subprocess.run(
        (str(shutil.which("git")), "commit", "-q", "--allow-empty", "-m", "gui"),
        cwd=cli.repo.path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(cli.noted()) == 2


def test_an_interpreter_that_is_gone_is_no_error(cli: Cli) -> None:
    cli.begin()
    path = hook(cli, "post-commit", shim.text("post-commit", "/gone/python"))
    assert path.exists()
    cli.repo.commit("two", f="2\n")
    assert len(cli.noted()) == 1


@pytest.mark.parametrize(
    ("setting", "manager"),
    [pytest.param(".husky/_", "husky", id="husky"), pytest.param("company", "core.hooksPath", id="company")],
)
def test_a_directory_of_somebody_else(cli: Cli, setting: str, manager: str) -> None:
    """Case C03: nothing is written there, the setting and its origin are named, and the lines to add are printed."""
    folder = cli.repo.path / setting
    folder.mkdir(parents=True)
    cli.repo.git("config", "core.hooksPath", setting)
    done = cli.run("hooks", "install")
    assert done.status == 128
    config = cli.repo.path / ".git/config"
    assert f"fatal: core.hooksPath is '{setting}' (set in '{config}')" in done.err
    assert list(folder.iterdir()) == []
    assert cli.repo.git("config", "core.hooksPath") == setting
    assert states(cli) == dict.fromkeys(HOOKS, "managed")
    add_lines(cli, done.out)
    assert states(cli) == dict.fromkeys(HOOKS, "installed")
    assert cli.ok("hooks", "install").out == "all hooks are installed\n"
    assert cli.ok("hooks", "status", "--json").json["manager"] == manager


def add_lines(cli: Cli, printed: str) -> None:
    """What the person does who follows the output: each line into the file that is named above it."""
    lines = printed.splitlines()
    for where, line in zip(lines[::2], lines[1::2], strict=True):
        path = Path(where.removeprefix("# "))
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)


def test_lines_in_a_company_directory_work(cli: Cli) -> None:
    folder = cli.repo.path / "company"
    folder.mkdir()
    cli.repo.git("config", "core.hooksPath", str(folder))
    add_lines(cli, cli.run("hooks", "install").out)
    cli.begin()
    cli.repo.commit("two", f="2\n")
    assert len(cli.noted()) == 2


def test_hooks_path_that_names_the_usual_place(cli: Cli) -> None:
    cli.repo.git("config", "core.hooksPath", ".git/hooks")
    cli.ok("hooks", "install")
    assert states(cli) == dict.fromkeys(HOOKS, "installed")


def test_lefthook_is_given_its_lines(cli: Cli) -> None:
    (cli.repo.path / "lefthook.yml").write_text("pre-commit:\n  jobs: []\n")
    done = cli.run("hooks", "install")
    assert (done.status, "lefthook.yml" in done.err) == (128, True)
    with (cli.repo.path / "lefthook.yml").open("a") as file:
        file.write(done.out)
    assert states(cli) == dict.fromkeys(HOOKS, "installed")
    assert not (cli.repo.path / ".git/hooks/post-commit").exists()


def pre_commit(cli: Cli, *words: str) -> None:
    (cli.repo.path / ".pre-commit-config.yaml").write_text("repos: []\n")
    argv = (sys.executable, "-m", "pre_commit", *words)
    subprocess.run(argv, cwd=cli.repo.path, env=cli.environ(), capture_output=True, check=True)


@pytest.mark.parametrize("first", ["pre-commit", "ours"])
def test_beside_pre_commit(cli: Cli, first: str) -> None:
    """Whoever comes second: both run, and what was there before either comes back."""
    hook(cli, "post-commit", "#!/bin/sh\necho before >>log\n")
    cli.begin()
    words = ("install", "--hook-type", "post-commit")
    if first == "pre-commit":
        pre_commit(cli, *words)
    cli.ok("hooks", "install")
    if first == "ours":
        pre_commit(cli, *words)
    assert states(cli) == dict.fromkeys(HOOKS, "installed")
    cli.repo.commit("two", f="2\n")
    assert len(cli.noted()) == 2
    assert (cli.repo.path / "log").read_text() == "before\n"
    cli.ok("hooks", "uninstall")
    cli.repo.commit("three", f="3\n")
    assert (cli.repo.path / "log").read_text() == "before\nbefore\n"
    assert len(cli.noted()) == 2


def test_uninstall_leaves_the_hooks_of_another_repository_alone(cli: Cli, tmp_path: Path) -> None:
    """core.hooksPath may name them, and a directory that holds nothing yet."""
    other = Cli(make(tmp_path / "other"), cli.home)
    other.ok("hooks", "install")
    there = other.repo.path / ".git/hooks"
    empty = tmp_path / "shared"
    empty.mkdir()
    before = everything(there)
    for folder in (there, empty):
        cli.repo.git("config", "core.hooksPath", str(folder))
        cli.run("hooks", "install")
        cli.ok("hooks", "uninstall")
    assert everything(there) == before
    assert empty.is_dir()


def test_installs_at_once_keep_the_hook_that_was_there(cli: Cli) -> None:
    hook(cli, "post-commit", "#!/bin/sh\necho before >>log\n")
    running = [cli.start("hooks", "install") for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    cli.repo.commit("two", f="2\n")
    assert (cli.repo.path / "log").read_text() == "before\n"


@pytest.mark.parametrize(("words", "left"), [("install", True), ("uninstall", False)])
def test_a_hook_of_another_version_is_ours(cli: Cli, words: str, left: bool) -> None:
    cli.ok("hooks", "install")
    path = cli.repo.path / ".git/hooks/post-commit"
    ours = path.read_text()
    other = "exit 0  # what another version wrote\n"
    path.write_text(f"#!/bin/sh\n{shim.MARK}\n{shim.sum_line(other)}\n{other}")
    assert "post-commit" in next(line for line in cli.run("hooks", "status").out.splitlines() if "outdated" in line)
    cli.ok("hooks", words)
    assert (path.exists(), not left or path.read_text() == ours) == (left, True)


@pytest.mark.parametrize("words", ["install", "uninstall"])
def test_lines_that_a_person_added_to_our_hook_are_not_lost(cli: Cli, words: str) -> None:
    cli.ok("hooks", "install")
    path = cli.repo.path / ".git/hooks/post-commit"
    path.write_text(path.read_text() + "echo mine\n")
    done = cli.run("hooks", words)
    assert (done.status, "has been changed by hand" in done.err) == (128, True)
    assert path.read_text().endswith("echo mine\n")


def test_what_an_install_left_half_done_is_put_back(cli: Cli) -> None:
    path = hook(cli, "post-commit", "#!/bin/sh\necho before >>log\n")
    before = everything(cli.repo.path / ".git/hooks")
    cli.ok("hooks", "install")
    path.unlink()
    cli.ok("hooks", "uninstall")
    assert everything(cli.repo.path / ".git/hooks") == before


def test_another_interpreter_takes_over(cli: Cli) -> None:
    path = hook(cli, "post-commit", shim.text("post-commit", "/gone/it's python"))
    assert states(cli)["post-commit"] == "outdated"
    cli.ok("hooks", "install")
    assert path.read_text() == shim.text("post-commit", sys.executable)


def test_hooks_installed_before_a_manager_came_are_taken_out(cli: Cli) -> None:
    cli.ok("hooks", "install")
    cli.repo.git("config", "core.hooksPath", ".husky/_")
    assert cli.ok("hooks", "uninstall").out.startswith(f"removed {', '.join(HOOKS)}\n")
    assert not (cli.repo.path / ".git/hooks/post-commit").exists()


def test_an_interpreter_without_git_agent_is_silent(cli: Cli, tmp_path: Path) -> None:
    """After `pip uninstall`, or an upgrade of the Python below."""
    cli.begin()
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    hook(cli, "post-commit", shim.text("post-commit", str(bare)))
    words = ("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert subprocess.run(words, cwd=cli.repo.path, capture_output=True, check=True).stderr == b""
    assert len(cli.noted()) == 1
