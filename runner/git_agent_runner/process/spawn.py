"""One engine process without a terminal: its message on stdin, its bytes to the run's files, its end watched.

The message is a file that nobody else can read and that has no name. A pipe would have to be fed while the engine
runs, and one whose writer is killed gives the engine half a message to work on.
"""

from __future__ import annotations

import errno
import os
import subprocess
from contextlib import ExitStack, closing
from typing import IO, TYPE_CHECKING, NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.nameless import nameless
from git_agent_runner.process import tree
from git_agent_runner.process.capture import Pump, Sink
from git_agent_runner.process.lifetime import Lifetime, Limits, Outcome
from git_agent_runner.process.signals import ENDING, caught

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from git_agent_runner.core.invocation import Invocation
    from git_agent_runner.process.capture import Hurry, Keep, OnChunk


class AttemptFiles(NamedTuple):
    """Absolute paths of the files to create; neither may exist."""

    stdout: str
    stderr: str


class SpawnFailed(UserError):  # noqa: N818  named for what happened, as the callers read it
    """The operating system would not start the program; nothing ran."""

    def __init__(self, argv: tuple[str, ...], reason: str) -> None:
        super().__init__(f"cannot start {argv[0]}: {reason}", code="spawn_failed")
        self.reason = reason


def run_headless(
    invocation: Invocation,
    env: Mapping[str, str],
    files: AttemptFiles,
    *,
    on_chunk: OnChunk | None = None,
    on_spawn: Callable[[int, float], None] | None = None,
    on_watch: Callable[[Hurry], None] | None = None,
    timeout: float | None = None,
    stall_after: float | None = None,
    on_stall: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Outcome:
    """Run the invocation to its end. Call it from the main thread.

    `env` is the engine's whole environment (`invocation.env` is the caller's to apply). `on_chunk` gets bytes as they
    come, already on disk; `on_spawn` the pid and its start in seconds since the epoch; `on_watch` a question that
    `on_chunk` must ask while it waits for anything: must the engine end now? `timeout` and `stall_after`
    are seconds; `on_stall` is told the seconds of silence, once for each silence. `cancel` is asked several times a
    second. A callback that raises ends the engine's tree. The engine leads a session of its own, so Ctrl-C
    reaches it only through us, once. Raises SpawnFailed, and UserError when a file cannot be created.
    """
    with closing(Sink(files.stdout)) as out, closing(Sink(files.stderr)) as err:
        limits = Limits(timeout, stall_after, on_stall, cancel)
        outcome = run(
            invocation, env, out.write, err.write, limits, on_chunk=on_chunk, on_spawn=on_spawn, on_watch=on_watch
        )
        return outcome._replace(write_error=out.error or err.error)


def run(
    invocation: Invocation,
    env: Mapping[str, str],
    keep_stdout: Keep,
    keep_stderr: Keep,
    limits: Limits,
    *,
    on_chunk: OnChunk | None = None,
    on_spawn: Callable[[int, float], None] | None = None,
    on_watch: Callable[[Hurry], None] | None = None,
) -> Outcome:
    """As `run_headless`, with the bytes going wherever the caller keeps them."""
    with ExitStack() as stack:
        inbox = stack.enter_context(caught(ENDING))
        process = _spawn(invocation, env, _message(stack, invocation))
        root = tree.root_of(process.pid, env)
        stack.callback(never_leave, process.poll, root)
        pump = stack.enter_context(closing(Pump()))
        pump.read(_detach(process.stdout), keep_stdout, "stdout", on_chunk)
        pump.read(_detach(process.stderr), keep_stderr, "stderr", on_chunk)
        if on_spawn:
            on_spawn(root.pid, root.created)
        watch = Lifetime(process.poll, root, pump, inbox, limits)
        if on_watch:
            on_watch(watch.must_end)
        return watch.run()


def explain(error: OSError | ValueError, argv: tuple[str, ...], cwd: str) -> str:
    """Why the system refused to start a program, in words a person can act on."""
    if not isinstance(error, OSError):
        return "an argument or a variable holds a character that no program can be given"
    if not os.path.isdir(cwd):
        return f"there is no directory {cwd}"
    if error.errno == errno.ENOENT and os.path.exists(argv[0]):
        return "the program that its first line (#!) names does not exist"
    if error.errno == errno.E2BIG:
        return f"the arguments are too long ({sum(len(word.encode(errors='replace')) for word in argv)} bytes)"
    if error.errno == errno.ENOEXEC:
        return "it is not a program of this system, and has no first line (#!) that names one"
    return os.strerror(error.errno or 0)


def _message(stack: ExitStack, invocation: Invocation) -> int:
    """The engine's stdin: all of the message, before there is an engine. Raises SpawnFailed."""
    if invocation.stdin is None:
        return subprocess.DEVNULL
    try:
        return stack.enter_context(nameless(invocation.stdin)).fileno()
    except OSError as error:
        why = f"its message cannot be put into a temporary file: {error.strerror}"
        raise SpawnFailed(invocation.argv, why) from None


def _spawn(invocation: Invocation, env: Mapping[str, str], stdin: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            invocation.argv,
            bufsize=0,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=invocation.cwd,
            env=dict(env),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise SpawnFailed(invocation.argv, explain(error, invocation.argv, invocation.cwd)) from None


def _detach(stream: IO[bytes] | None) -> int:
    """The pump closes what it reads, so the pipe becomes its own."""
    assert stream is not None
    fd = os.dup(stream.fileno())
    stream.close()
    return fd


def never_leave(poll: Callable[[], int | None], root: tree.Root) -> None:
    """When we fail, the engine must not continue unwatched."""
    if poll() is None:
        tree.end(root, tree.AT_ONCE)
        poll()
