"""What belongs to an engine's tree, and that all of it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from git_agent_runner.process import tree

ROOT = Path(__file__).parents[2]
# Tests that run at the same time must not end each other's engines.
MARKER = {"GIT_AGENT_HANDLE": "7f3a9c21", "GIT_AGENT_RUN_DIR": f"/run/{os.getpid()}"}
SLEEP = "import time; print(flush=True); time.sleep(600)"
QUICK = ((signal.SIGINT, 0.3), (signal.SIGTERM, 0.3), (signal.SIGKILL, 5.0))


class Engine:
    """A process in a session of its own that starts others and prints their pids."""

    def __init__(self, code: str, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, env=dict(os.environ) | env, start_new_session=True
        )
        assert self.process.stdout
        self.children = [int(word) for word in self.process.stdout.readline().split()]
        self.root = tree.root_of(self.process.pid, env)

    def pids(self) -> set[int]:
        return {process.pid for process in tree.members(self.root)}


def starting(*options: str, then: str = "time.sleep(600)") -> str:
    """Code that starts one child for each group of options of Popen, tells their pids, and goes on."""
    children = [f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}], stdout=subprocess.PIPE, {o})" for o in options]
    ready = "[c.stdout.readline() for c in children]"
    return "\n".join(
        [
            "import os, signal, subprocess, sys, time",
            f"children = [{', '.join(children)}]",
            ready,
            "print(*(c.pid for c in children), flush=True)",
            then,
        ]
    )


@pytest.fixture
def engines() -> Iterator[list[Engine]]:
    started: list[Engine] = []
    yield started
    for engine in started:
        for pid in (engine.process.pid, *engine.children):
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGKILL)
        engine.process.wait()


def start(engines: list[Engine], code: str, env: dict[str, str] | None = None) -> Engine:
    engines.append(Engine(code, env or {}))
    return engines[-1]


def test_descendants_in_any_group_or_session(engines: list[Engine]) -> None:
    """Pitfall 14: tools sit in their own process group."""
    engine = start(engines, starting("", "process_group=0", "start_new_session=True"))
    assert engine.pids() == {engine.process.pid, *engine.children}


@pytest.mark.parametrize(
    ("option", "env", "found"),
    [
        pytest.param("", {}, True, id="by session"),
        pytest.param("start_new_session=True", MARKER, True, id="by marker"),
        pytest.param("start_new_session=True", {}, False, id="not at all"),
        pytest.param("start_new_session=True, env={'GIT_AGENT_HANDLE': '7f3a9c21'}", MARKER, False, id="half a marker"),
    ],
)
def test_orphans(engines: list[Engine], option: str, env: dict[str, str], found: bool) -> None:
    engine = start(engines, starting(option, then=""), env)
    engine.process.wait()
    assert engine.pids() == (set(engine.children) if found else set())


def test_another_run_is_not_touched(engines: list[Engine]) -> None:
    other = start(engines, starting(""), MARKER | {"GIT_AGENT_RUN_DIR": "/other"})
    engine = start(engines, starting(""), MARKER)
    assert engine.pids().isdisjoint({other.process.pid, *other.children})


def test_an_older_process_of_the_run_is_not_this_attempts(engines: list[Engine]) -> None:
    before = start(engines, starting(""), MARKER)
    engine = start(engines, starting(""), MARKER)
    later = engine.root._replace(created=before.root.created + 3600)
    assert tree.members(later) == []


def test_we_are_never_part_of_it() -> None:
    """`resume --kill` may be typed by an agent of that very run; its shell is spared, too."""
    code = """
import os
from git_agent_runner.process import tree
print([tree.members(tree.root_of(pid, os.environ)) for pid in (os.getpid(), os.getppid())])
"""
    shell = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", code]
    env = dict(os.environ) | MARKER | {"PYTHONPATH": f"{ROOT}/runner:{ROOT}/extractors"}
    ran = subprocess.run(shell, env=env, capture_output=True, text=True, check=True, start_new_session=True)
    assert ran.stdout == "[[], []]\n"


def test_a_reused_pid_is_another_process(engines: list[Engine]) -> None:
    engine = start(engines, starting(""))
    earlier = engine.root._replace(created=engine.root.created - 3600)
    assert tree.members(earlier) == []
    assert tree.end(earlier, tree.AT_ONCE) == ((), ())
    assert engine.process.poll() is None


def test_nothing_is_sent_after_the_tree_ended(engines: list[Engine]) -> None:
    engine = start(engines, starting("", "start_new_session=True"))
    ended = tree.end(engine.root)
    assert ended == (("SIGINT",), ())
    assert engine.process.wait() == -signal.SIGINT


def test_each_signal_in_turn_reaches_those_that_ignore_the_others(engines: list[Engine]) -> None:
    ignore = "preexec_fn=lambda: [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM)]"
    engine = start(engines, starting(f"start_new_session=True, {ignore}"), MARKER)
    ended = tree.end(engine.root, QUICK)
    assert ended == (("SIGINT", "SIGTERM", "SIGKILL"), ())
    assert not [pid for pid in engine.children if psutil.pid_exists(pid) and alive(pid)]


def test_those_that_appear_meanwhile_end_too(engines: list[Engine]) -> None:
    """Half dead, it starts one more."""
    last_words = f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)"
    handler = f"signal.signal(signal.SIGTERM, lambda *_: ({last_words}, os._exit(0)))"
    engine = start(
        engines,
        starting(
            "", then=f"{handler}\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint(flush=True)\ntime.sleep(600)"
        ),
        MARKER,
    )
    assert engine.process.stdout
    engine.process.stdout.readline()
    assert tree.end(engine.root, QUICK).survivors == ()
    assert engine.pids() == set()


def test_survivors_are_named(engines: list[Engine]) -> None:
    ignore = "preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)"
    engine = start(engines, starting(ignore))
    ended = tree.end(engine.root, ((signal.SIGINT, 2.0),))
    [child] = engine.children
    assert ended == (("SIGINT",), (f"{child} {psutil.Process(child).name()}",))


def test_who_is_in_a_hurry_gets_the_next_signal_at_once(engines: list[Engine]) -> None:
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    engine = start(engines, code)
    ended = tree.end(engine.root, ((signal.SIGINT, 3600.0), (signal.SIGKILL, 5.0)), lambda _: True)
    assert ended.signals == ("SIGINT", "SIGKILL")
    assert engine.process.wait() == -signal.SIGKILL


def alive(pid: int) -> bool:
    return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
