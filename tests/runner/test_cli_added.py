"""Engines that a person has added, by a profile file or a package: everything works with them, and nothing without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner.engines import MODULES, added
from support.added import PROFILE, add, program
from support.cli import Cli, ask
from support.gitrepo import GitRepo


@pytest.fixture
def mine(cli: Cli) -> Cli:
    """A person who has described `mine`, and has its program."""
    add(cli.home)
    cli.repo.git("config", "agent.mine.binary", str(program(cli.home)))
    return cli


def said(mine: Cli) -> str:
    """What the engine printed in its newest attempt."""
    record = mine.record()
    stdout = Path(mine.layout.attempt(record.run_id, record.attempts), "stdout").read_text()
    (text,) = [event["text"] for event in map(json.loads, stdout.splitlines()) if event["type"] == "said"]
    return str(text)


def test_start_and_resume(mine: Cli) -> None:
    """The second turn has the first one's text: the session was brought back by its id, with the flags of the start."""
    started = mine.ok("start", "-e", "mine", "MK1", "--", "-mx", "--yolo").err
    record = mine.record()
    assert f"mine · session {record.session.value}" in started
    assert record.launch_args == ("-m", "x", "--yolo")
    mine.ok("resume", "MK2")
    assert said(mine) == f"-m x --yolo --session {record.session.value} | MK1 | MK2"
    assert (mine.attempt(2).resumed, mine.attempt(2).status) == ("yes", "completed")
    assert mine.record().engine_version == "1.10"


def test_a_note_shows_what_its_option_table_knows_to_be_harmless(mine: Cli) -> None:
    mine.begin("mine", "--", "--model", "m-5", "--yolo", "--nosuch=secret")
    (note,) = mine.repo.git("notes", "--ref=agent", "show", "HEAD").splitlines()
    assert json.loads(note.removeprefix("- "))["launch"]["args"] == ["--model", "m-5", "--yolo", "[redacted]"]


def test_the_message_and_the_session_are_no_flags(mine: Cli) -> None:
    mine.ok("start", "-e", "mine", "--prompt=--yolo")
    assert said(mine) == " | --yolo"
    refused = mine.run("resume", "--session=--last", "x")
    assert (refused.status, "is not a session id of mine" in refused.err) == (128, True)


def test_what_reads_reads_it_too(mine: Cli) -> None:
    mine.begin("mine")
    record = mine.record()
    (row,) = mine.ok("list", "--json").json["runs"]
    assert (row["engine"], row["session"]) == ("mine", record.session.value)
    for command in ("show", "status"):
        told = mine.ok(command, "--json").json
        assert (told["engine"], told["resumable"], told["status"]) == ("mine", True, "completed")
    assert "said      | begin" in mine.ok("show").out.replace("said       |", "said      |")
    kept = str(Path(mine.layout.attempt(record.run_id, 1), "stdout"))
    read = mine.ok("extract", "mine", kept, "--json").json
    assert (read["session"], read["status"]) == ({"field": "session", "value": record.session.value}, "completed")
    assert mine.ok("doctor").out == "nothing is wrong\n"
    assert mine.noted() == [record.handle]


def test_a_dry_run_shows_the_command(mine: Cli) -> None:
    record = mine.begin("mine", "--", "--model", "m-5")
    shown = mine.ok("resume", "-n", "--json", "x").json
    assert shown["argv"][1:] == ["run", "--model", "m-5", "--session", record.session.value]


def test_a_session_that_its_store_has_lost_is_missed(mine: Cli) -> None:
    record = mine.begin("mine")
    (mine.home / ".mine" / f"{record.session.value}.jsonl").unlink()
    assert mine.ok("resume", "--dry-run", "--json", "x").json["restores"] is True
    mine.forget_copies()
    done = mine.run("resume", "--json", "x")
    assert (done.status, done.json["error"]["code"], mine.record().attempts) == (128, "session_missing", 1)


def test_a_session_that_was_not_printed_is_taken_from_the_store(mine: Cli) -> None:
    program(mine.home).write_text(program(mine.home).read_text().replace('{"type": "open", "session": session}, ', ""))
    record = mine.begin("mine")
    assert (
        record.session.value == json.loads(next((mine.home / ".mine").iterdir()).read_text().splitlines()[0])["session"]
    )
    assert mine.attempt().session_from == "store"


def test_engines_says_where_a_profile_comes_from(mine: Cli) -> None:
    path = add(mine.home)
    found = mine.ok("engines", "--json").json["engines"]
    assert [row["profile"] for row in found] == ["shipped"] * len(MODULES) + [str(path)]
    assert (found[-1]["engine"], found[-1]["version"], found[-1]["resume"]) == ("mine", "1.10", "yes")
    assert f"mine is described by {path}" in mine.ok("engines").out


def test_check_says_what_is_kept_and_what_is_not(mine: Cli) -> None:
    assert {line.split()[0] for line in mine.ok("engines", "--check", "mine").out.splitlines()} == {"kept"}
    add(mine.home, PROFILE.replace("--yolo, role: permission, widens: true", "--yolo, role: permission"))
    checked = mine.run("engines", "--check", "mine")
    assert checked.status == 1
    assert "broken  what lets an agent do more is marked\n        --yolo is not marked as widening\n" in checked.out
    told = mine.run("engines", "--check", "mine", "--json").json
    assert [row["broken"] for row in told["promises"] if row["broken"]] == [["--yolo is not marked as widening"]]


@pytest.mark.parametrize("name", ["codex", "other"])
def test_only_what_was_added_is_checked(here: Cli, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert ask("engines", "--check", name) == 128
    assert f"'{name}' is not an engine that you added" in capfd.readouterr().err


BROKEN = "engine profile '{}', line 2: binary: expected the name of a program on PATH, not './mine'"


def test_a_broken_profile_is_named_and_breaks_nothing_else(mine: Cli) -> None:
    run = mine.begin("mine")
    path = add(mine.home, PROFILE.replace("binary: mine", "binary: ./mine"))
    problem = BROKEN.format(path)
    for command in (["start", "-e", "mine", "x"], ["resume", "x"], ["extract", "mine", "-"]):
        done = mine.run(*command)
        assert (done.status, done.lines[0]) == (128, f"fatal: {problem}")
    shown = mine.ok("show", run.handle).out
    assert f"resume    no: {problem}" in shown
    assert "command " in shown
    assert mine.ok("list").out.count("mine") == 1
    rows = mine.ok("engines", "--json").json["engines"]
    assert (rows[0]["problem"], rows[-1]["engine"], rows[-1]["problem"]) == ("", "mine", problem)
    assert f"problem: {problem}" in mine.run("doctor").out
    mine.ok("start", "-e", "codex", "x")
    mine.ok("resume", "y")
    assert mine.attempt(2, next(handle for handle in mine.noted() if handle != run.handle)).status == "completed"


def test_a_profile_that_is_gone_leaves_its_runs(mine: Cli) -> None:
    run = mine.begin("mine")
    add(mine.home).unlink()
    done = mine.run("resume", "--json", "x")
    assert (done.status, done.json["error"]["code"]) == (128, "engine_unknown")
    assert f"{run.handle}" in mine.ok("list").out
    assert "unknown engine 'mine'" in mine.ok("show").out
    assert "unknown engine 'mine'" in mine.run("doctor").out


@pytest.mark.parametrize("place", [".config", ".git/config.d", ""], ids=["tracked", "git directory", "link"])
def test_a_profile_inside_the_repository_is_refused(mine: Cli, repo: GitRepo, place: str, tmp_path: Path) -> None:
    """Its own git directory is nobody's work tree, and a link leads to where it leads."""
    top = Path(repo.path, place)
    if place:
        config = top
        add(tmp_path).rename(_made(config / "git-agent/engines") / "mine.yaml")
    else:
        add(tmp_path).rename(top / "mine.yaml")
        config = tmp_path / "linked"
        (_made(config / "git-agent/engines") / "mine.yaml").symlink_to(top / "mine.yaml")
    done = mine.run("start", "-e", "mine", "--json", "x", XDG_CONFIG_HOME=str(config))
    if place.startswith(".git/"):
        assert done.status == 0
        return
    assert (done.status, done.json["error"]["code"]) == (128, "profile_in_repository")
    assert mine.run("extract", "mine", "-", XDG_CONFIG_HOME=str(config)).status == 128
    rows = mine.ok("engines", "--json", XDG_CONFIG_HOME=str(config)).json["engines"]
    assert "is inside this repository" in rows[-1]["problem"]


def test_a_linked_work_tree_is_the_repository_too(mine: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    mine.repo.git("worktree", "add", "-q", "-b", "other", str(other))
    add(tmp_path).rename(_made(other / "git-agent/engines") / "mine.yaml")
    assert mine.run("start", "-e", "mine", "--json", "x", XDG_CONFIG_HOME=str(other)).status == 128


def test_a_shipped_engine_cannot_be_shadowed(mine: Cli) -> None:
    path = add(mine.home, name="codex")
    assert mine.begin("codex").session.field == "thread_id"
    rows = mine.ok("engines", "--json").json["engines"]
    problems = {row["problem"] for row in rows if row["engine"] == "codex"}
    assert problems == {"", f"{path} describes 'codex', which is built in and cannot be replaced"}
    assert str(path) in mine.run("doctor").out


@pytest.mark.parametrize("name", ["Mine", "my_agent", "a" * 33, "1st"])
def test_a_name_that_cannot_be_is_told(cli: Cli, name: str) -> None:
    path = add(cli.home, name=name)
    (row,) = [row for row in cli.ok("engines", "--json").json["engines"] if row["engine"] == name]
    assert row["problem"] == f"{path}: expected a name of up to 32 lower-case letters, digits and dashes"
    assert cli.run("start", "-e", name, "x").status == 128


def test_a_file_that_is_no_profile_is_told(cli: Cli) -> None:
    add(cli.home, name="large").write_bytes(b"#" * 300_000)
    add(cli.home, name="odd").write_bytes(b"schema: 1\nbinary: \xff\n")
    _made(add(cli.home).parent / "folder.yaml")
    problems = {row["engine"]: row["problem"] for row in cli.ok("engines", "--json").json["engines"]}
    assert problems["large"].endswith("is larger than 256 KiB")
    assert problems["odd"].endswith("odd.yaml', line 2: expected UTF-8")
    assert problems["folder"].endswith("folder.yaml' cannot be read: Is a directory")


def package(site: Path, module: str, name: str = "packed") -> None:
    """An installed distribution with an entry point, as pip leaves one."""
    info = _made(site / "packed_agent-0.3.dist-info")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: packed-agent\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text(f"[git_agent.engines]\n{name} = packed_agent\n")
    (site / "packed_agent.py").write_text(module)


MODULE = """\
from pathlib import Path
from git_agent_extractors.declared import profile
from git_agent_runner.engines.added import declared, profile_form

found = profile_form.read(Path({path!r}).read_text(), {name!r})
ENGINE = declared.engine({name!r}, found.declared, found.rules.session)
PROFILE = profile(found.rules)
EXAMPLE = found.example
"""


def packed(cli: Cli, tmp_path: Path, module: str = MODULE) -> str:
    """The PYTHONPATH with which that package is installed."""
    (tmp_path / "rules.yaml").write_text(PROFILE)
    package(_made(tmp_path / "site"), module.format(path=str(tmp_path / "rules.yaml"), name="packed"))
    return f"{tmp_path / 'site'}:{cli.environ()['PYTHONPATH']}"


def test_a_package_brings_an_engine(cli: Cli, tmp_path: Path) -> None:
    path = packed(cli, tmp_path)
    cli.repo.git("config", "agent.packed.binary", str(program(cli.home)))
    cli.ok("start", "-e", "packed", "MK1", PYTHONPATH=path)
    cli.ok("resume", "MK2", PYTHONPATH=path)
    assert said(cli).endswith(" | MK1 | MK2")
    row = cli.ok("engines", "--json", PYTHONPATH=path).json["engines"][-1]
    assert (row["engine"], row["profile"], row["version"]) == ("packed", "package packed-agent 0.3", "1.10")
    assert cli.ok("engines", "--check", "packed", PYTHONPATH=path).out.count("kept") > 5


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        pytest.param("raise RuntimeError('no')", "cannot be loaded: RuntimeError: no", id="raises"),
        pytest.param("import nosuch", "cannot be loaded: ModuleNotFoundError: No module named 'nosuch'", id="import"),
        pytest.param("ENGINE = 1", "expected 'packed_agent' to have ENGINE and PROFILE", id="no engine"),
        pytest.param(
            MODULE + "ENGINE = ENGINE._replace(name='other')",
            "expected ENGINE and PROFILE to have the name 'packed' and the same field",
            id="another name",
        ),
    ],
)
def test_a_package_that_is_broken_is_named_and_breaks_nothing_else(
    cli: Cli, tmp_path: Path, module: str, problem: str
) -> None:
    path = packed(cli, tmp_path, module)
    done = cli.run("start", "-e", "packed", "--json", "x", PYTHONPATH=path)
    assert (done.status, done.json["error"]["code"]) == (128, "profile_invalid")
    assert f"engine profile package packed-agent 0.3{':' * problem.startswith('expected')} {problem}" in done.err
    assert problem in cli.ok("engines", "--json", PYTHONPATH=path).json["engines"][-1]["problem"]
    cli.ok("start", "-e", "codex", "x", PYTHONPATH=path)


def test_a_file_of_ones_own_comes_before_a_package(cli: Cli, tmp_path: Path) -> None:
    path = packed(cli, tmp_path, "raise RuntimeError('no')")
    own = add(cli.home, name="packed")
    assert cli.ok("engines", "--json", PYTHONPATH=path).json["engines"][-1]["profile"] == str(own)


def test_a_version_on_stderr_is_one(mine: Cli) -> None:
    """pi 0.73.1 prints it there, off a terminal."""
    own = program(mine.home)
    own.write_text(own.read_text().replace('print("mine 1.10")', 'print("mine 1.10", file=sys.stderr)'))
    assert mine.begin("mine").engine_version == "1.10"


@pytest.mark.parametrize(
    ("words", "looked"),
    [
        pytest.param(["resume", "-n", "x"], False, id="a run of a shipped engine"),
        pytest.param(["list"], False, id="a list"),
        pytest.param(["engines"], True, id="all engines"),
    ],
)
def test_nothing_is_looked_for_unless_it_is_asked_for(cli: Cli, words: list[str], looked: bool) -> None:
    cli.begin("codex")
    code = f"import sys; from git_agent_runner import cli; cli.main({words}); print('{added.__name__}' in sys.modules)"
    done = subprocess.run(
        (sys.executable, "-P", "-c", code),
        cwd=cli.repo.path,
        env=cli.environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == str(looked)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
