"""Whole processes, timed in turns: whatever slows the machine slows every case of a round alike."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import psutil


class Sample(NamedTuple):
    """One process, its children included: `wall` and `cpu` seconds, `peak` bytes of memory.

    The kernel counts what a child was forked from, so `peak` is never less than this process's own.
    """

    wall: float
    cpu: float
    peak: int


class Case(NamedTuple):
    """What is timed. `before` runs ahead of each timing, off the clock."""

    name: str
    run: Callable[[], Sample]
    before: Callable[[], None] = lambda: None


class Row(NamedTuple):
    """One line of the table. Times are milliseconds, `peak` is MiB, None where it has no limit.

    `ratio` is of the medians of `wall`, in units of the yardstick `per`; `cpu_ratio`, of `cpu`: on a busy machine it
    shows what waiting did to the other one.
    """

    what: str
    median: float
    least: float
    cpu: float
    peak: float | None
    ratio: float | None
    cpu_ratio: float | None
    per: str = ""
    limits: tuple[str, ...] = ()
    over: tuple[str, ...] = ()


class Limits(NamedTuple):
    """`ratio` to the yardstick, `cpu` the same of CPU time, `ms` milliseconds, `mib` MiB of memory; None: no limit."""

    ratio: float | None = None
    ms: float | None = None
    mib: float | None = None
    cpu: float | None = None


NO_LIMITS = Limits()


def process(argv: tuple[str, ...], cwd: str, env: Mapping[str, str], ends: int = 0) -> Sample:
    """Start the program and wait for its end. Raises RuntimeError when its exit status is another than it `ends` with:
    then its time means nothing.
    """
    actions = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    here = os.getcwd()
    os.chdir(cwd)
    try:
        began = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - began
    finally:
        os.chdir(here)
    if os.waitstatus_to_exitcode(status) != ends:
        raise RuntimeError(f"{' '.join(argv)} (in {cwd}) ended with {os.waitstatus_to_exitcode(status)}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def idle(argv: tuple[str, ...], cwd: str, env: Mapping[str, str], seconds: float) -> Sample:
    """What a program takes that only waits, once it has begun, in that many seconds; it is ended then."""
    with subprocess.Popen(argv, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        took = psutil.Process(process.pid).cpu_times
        time.sleep(seconds)
        began, before = time.perf_counter(), sum(took()[:4])
        time.sleep(seconds)
        wall, after = time.perf_counter() - began, sum(took()[:4])
        if process.poll() is not None:
            raise RuntimeError(f"{' '.join(argv)} (in {cwd}) did not wait")
        process.terminate()
    return Sample(wall, after - before, 0)


def interleaved(cases: Sequence[Case], rounds: int) -> dict[str, list[Sample]]:
    """`rounds` samples of each case. One round more goes first and is not counted: it fills the caches."""
    samples: dict[str, list[Sample]] = {case.name: [] for case in cases}
    for number in range(rounds + 1):
        turn = number % len(cases)
        for case in (*cases[turn:], *cases[:turn]):
            case.before()
            sample = case.run()
            if number:
                samples[case.name].append(sample)
    return samples


def row(
    what: str, samples: Sequence[Sample], yard: tuple[str, Sequence[Sample]] | None = None, limits: Limits = NO_LIMITS
) -> Row:
    """The figures of one case against its limits; `yard` is the name of the yardstick and its samples."""
    middle, cpu = _medians(samples)
    peak = max(sample.peak for sample in samples) / 2**20
    per, (yard_wall, yard_cpu) = (yard[0], _medians(yard[1])) if yard else ("", (0.0, 0.0))
    ratio, cpu_ratio = (middle / yard_wall, cpu / yard_cpu) if yard else (None, None)
    checks = (
        (limits.ratio, ratio, f"{limits.ratio} {per}"),
        (limits.ms, middle, f"{limits.ms} ms"),
        (limits.mib, peak, f"{limits.mib} MiB"),
        (limits.cpu, cpu_ratio, f"{limits.cpu} {per} of CPU"),
    )
    return Row(
        what,
        median=middle,
        least=min(sample.wall for sample in samples) * 1000,
        cpu=cpu,
        peak=None if limits.mib is None else peak,
        ratio=ratio,
        cpu_ratio=cpu_ratio,
        per=per,
        limits=tuple(text for limit, _, text in checks if limit is not None),
        over=tuple(text for limit, value, text in checks if limit is not None and (value or 0.0) > limit),
    )


def _medians(samples: Sequence[Sample]) -> tuple[float, float]:
    """Of wall and of cpu, in milliseconds."""
    return median(sample.wall for sample in samples) * 1000, median(sample.cpu for sample in samples) * 1000
