"""Everything ends at each step of an attempt, with stand-ins for engines: nothing complete is lost, the run goes on.

The same on real engines is tests/system/test_faults.py.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner.core import checkpoints
from git_agent_runner.core.model import Attempt
from git_agent_runner.store.records import attempts
from support import faults
from support.cli import PROGRAM, Cli, Done
from support.faults import Fault
from support.waiting import PATIENCE, until

# Of linux/prctl.h and linux/capability.h.
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def under(cli: Cli, fault: Fault, *arguments: str, **environ: str) -> Done:
    """`git-agent ARGUMENTS`, with the fault happening to it."""
    done = subprocess.run(
        (sys.executable, "-P", *fault.words(*arguments)),
        cwd=cli.repo.path,
        env=cli.environ(**environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))


def fault(tmp_path: Path, do: str, step: str, nth: int, path: str = "") -> Fault:
    return Fault(do, step, nth, str(tmp_path / "happened"), path)


def store(cli: Cli) -> Path:
    return Path(cli.layout.root)


def goes_on(cli: Cli, before: dict[str, str]) -> None:
    """All that was complete is as it was; what can be fixed is; the next resume is right or says why not."""
    kept = faults.complete(store(cli))
    assert {name: kept.get(name) for name in before} == before
    faults.fixed(cli.run)
    kept = faults.complete(store(cli))
    assert {name: kept.get(name) for name in before} == before
    done = cli.run("resume", "and on")
    assert done.status == 0 or faults.says_why(done), done
    if before:
        assert done.status == 0, done
        assert cli.calls()[-1]["stdin"] == "and on"
        assert {attempt.session for attempt in every_attempt(cli)} == {cli.record().session}
    assert cli.run("doctor").status == 0


def every_attempt(cli: Cli) -> list[Attempt]:
    return [cli.attempt(number) for number in range(1, cli.record().attempts + 1)]


@pytest.mark.long_matrix(4)
@pytest.mark.parametrize(("step", "nth"), faults.START_POINTS)
def test_killed_in_a_start(cli: Cli, tmp_path: Path, step: str, nth: int) -> None:
    wrong = fault(tmp_path, "kill both", step, nth)
    under(cli, wrong, "start", "-e", "codex", "begin")
    assert wrong.happened(), f"a start does not reach {step} for the {nth}. time"
    if cli.ok("list", "--json").json["runs"]:
        goes_on(cli, {})
    else:
        faults.fixed(cli.run)


@pytest.mark.long_matrix(4)
@pytest.mark.parametrize(("step", "nth"), faults.RESUME_POINTS)
def test_killed_in_a_resume(cli: Cli, tmp_path: Path, step: str, nth: int) -> None:
    cli.begin("claude")
    before = faults.complete(store(cli))
    assert before
    wrong = fault(tmp_path, "kill git-agent", step, nth)
    under(cli, wrong, "resume", "go on")
    assert wrong.happened(), f"a resume does not reach {step} for the {nth}. time"
    run = cli.record()
    until(lambda: attempts.standing(cli.layout, run.handle, run.run_id) != "running", "its engine has ended")
    goes_on(cli, before)


@pytest.mark.parametrize("step", ["engine-spawned", "process-saved", "output-came"])
def test_only_the_engine_is_killed(cli: Cli, tmp_path: Path, step: str) -> None:
    cli.begin()
    before = faults.complete(store(cli))
    wrong = fault(tmp_path, "kill engine", step, 1)
    done = under(cli, wrong, "resume", "go on", FAKE_CMD="exec sleep 600")
    assert (done.status, wrong.happened()) == (137, True)
    assert cli.attempt(2).status in ("interrupted", "no_output")
    goes_on(cli, before)


def test_every_step_is_a_point() -> None:
    """And one that the product no longer reaches fails above."""
    assert {step for step, _ in (*faults.START_POINTS, *faults.RESUME_POINTS)} == set(checkpoints.STEPS)


@pytest.mark.long_matrix(2)
@pytest.mark.parametrize(("engine", "kind"), [("codex", "start"), ("claude", "resume")])
def test_the_disk_is_full_from_each_write_on(cli: Cli, tmp_path: Path, engine: str, kind: str) -> None:
    """As many runs as an attempt has writes; the last one has too few to be hit."""
    nth = 0
    while True:
        nth += 1
        before = {}
        if kind == "resume":
            cli.begin(engine, FAKE_ID="new")
            before = faults.complete(store(cli))
        wrong = Fault("fill the disk", "", nth, str(tmp_path / f"happened-{nth}"))
        words = ("start", "-e", engine, "begin") if kind == "start" else ("resume", "go on")
        done = under(cli, wrong, *words, FAKE_ID="" if kind == "resume" else "new")
        if not wrong.happened():
            break
        assert "Traceback" not in done.err, done.err
        assert "a bug in git-agent" not in done.err, done.err
        kept = faults.complete(store(cli))
        assert {name: kept.get(name) for name in before} == before
        faults.fixed(cli.run)
        went_on = cli.run("resume", "and on")
        assert went_on.status == 0 or faults.says_why(went_on), (nth, went_on)
    assert nth > 8


def powerless() -> None:
    """In the child: even root minds mode bits then, as anybody else does."""
    if os.getuid() == 0:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.parametrize("folder", ["index", "runs", "locks", "."])
def test_a_folder_that_cannot_be_written(cli: Cli, folder: str) -> None:
    begun = cli.begin()
    before = faults.complete(store(cli))
    place = (store(cli) / folder).resolve()
    place.chmod(0o500)
    if folder == ".":
        shutil.rmtree(place / "cache", ignore_errors=True)
    try:
        plain = subprocess.run(
            ["sh", "-c", 'echo x >"$1"', "sh", str(place / "x")], preexec_fn=powerless, capture_output=True, check=False
        )
        assert plain.returncode != 0, "a plain write is refused, or this test proves nothing"
        done = subprocess.run(
            (*PROGRAM, "resume", "go on"),
            cwd=cli.repo.path,
            env=cli.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=powerless,
            check=False,
        )
    finally:
        place.chmod(0o700)
    assert "a bug in git-agent" not in done.stderr, done.stderr
    if done.returncode:
        assert faults.says_why(Done(done.returncode, done.stdout, done.stderr)), done.stderr
    assert cli.record(begun.handle).session == begun.session
    goes_on(cli, before)


def test_the_file_system_is_full(cli: Cli, tmp_path: Path) -> None:
    """A small one that is mounted for it, where that is allowed; else no file may grow, git's among them."""
    begun = cli.begin()
    before = faults.complete(store(cli))
    runs = store(cli) / "runs"
    noise = "head -c 600000 /dev/zero | tr '\\0' x"
    mounted = mount(runs, "512k")
    try:
        words = (*PROGRAM, "resume", "go on")
        limit = ("sh", "-c", 'ulimit -f 64; exec "$@"', "sh")
        done = subprocess.run(
            words if mounted else (*limit, *words),
            cwd=cli.repo.path,
            env=cli.environ(FAKE_CMD=noise if mounted else f"({noise}) >/dev/null", FAKE_END=f"{noise} >&2"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        assert "a bug in git-agent" not in done.stderr, done.stderr[-2000:]
        assert "Traceback" not in done.stderr
    finally:
        if mounted:
            unmount(runs)
    assert cli.record(begun.handle).session == begun.session
    goes_on(cli, before)


def mount(place: Path, size: str) -> bool:
    """Let a small file system hold what is there. False where mounting is not allowed."""
    kept = place.with_name("runs-before")
    shutil.copytree(place, kept)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", str(place)]
    try:
        if subprocess.run(words, capture_output=True, check=False).returncode:
            shutil.rmtree(kept)
            return False
    except OSError:
        shutil.rmtree(kept)
        return False
    shutil.copytree(kept, place, dirs_exist_ok=True)
    return True


def unmount(place: Path) -> None:
    """What it holds by now goes to the disk."""
    kept = place.with_name("runs-before")
    shutil.rmtree(kept)
    shutil.copytree(place, kept)
    subprocess.run(["umount", str(place)], check=True)
    shutil.copytree(kept, place, dirs_exist_ok=True)
    shutil.rmtree(kept)


def test_the_clock_jumps_back_in_an_attempt(cli: Cli, tmp_path: Path) -> None:
    """The run does not become older than it was, and so not older than its branch."""
    begun = cli.begin()
    before = faults.complete(store(cli))
    wrong = fault(tmp_path, "jump the clock", "output-came", 1)
    done = under(cli, wrong, "resume", "go on")
    assert (done.status, wrong.happened()) == (0, True)
    assert cli.record().updated_at >= begun.updated_at
    goes_on(cli, before)


@pytest.mark.parametrize("step", ["engine-spawned", "output-came", "engine-ended", "attempt-settled"])
def test_the_work_tree_is_removed_in_an_attempt(cli: Cli, tmp_path: Path, step: str) -> None:
    """Its runs are in the common directory. The run is not resumed anywhere else without a word."""
    place = tmp_path / "tree"
    cli.repo.git("worktree", "add", "-q", "-b", "feature", str(place))
    begun = cli.begin(cwd=place)
    before = faults.complete(store(cli))
    wrong = fault(tmp_path, "remove the work tree", step, 1, str(place))
    subprocess.run(
        (sys.executable, "-P", *wrong.words("resume", "go on")),
        cwd=place,
        env=cli.environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert wrong.happened()
    kept = faults.complete(store(cli))
    assert {name: kept.get(name) for name in before} == before
    faults.fixed(cli.run)
    refused = cli.run("resume", "--handle", begun.handle, "x")
    assert faults.says_why(refused), refused
    assert f"the work tree of run {begun.handle} is missing" in refused.err
