"""One engine in the person's own terminal: every key to the engine, every byte to the screen and to the disk."""

from __future__ import annotations

import errno
import os
import signal
import termios
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from git_agent_runner.core.errors import UserError
from git_agent_runner.process import tree
from git_agent_runner.process.capture import Outlet, Pump, Sink
from git_agent_runner.process.job import Raw, ShellJob, resize, size
from git_agent_runner.process.keys import Keys
from git_agent_runner.process.lifetime import Lifetime, Limits, Outcome
from git_agent_runner.process.screen import Screen
from git_agent_runner.process.signals import ENDING, caught
from git_agent_runner.process.spawn import SpawnFailed, explain, never_leave

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from git_agent_extractors.model import Source
    from git_agent_runner.core.invocation import Invocation
    from git_agent_runner.process.capture import Hurry, OnChunk


def run_terminal(
    invocation: Invocation,
    env: Mapping[str, str],
    pty_output: str,
    *,
    keyboard: int = 0,
    screen: int = 1,
    on_chunk: OnChunk | None = None,
    on_spawn: Callable[[int, float], None] | None = None,
    timeout: float | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Outcome:
    """Run the invocation in its own terminal that is shown in ours. Call it from the main thread.

    All keys go to the engine, which decides what Ctrl-C means; but Ctrl-Z stops it and us, until the shell's fg.
    `env` is its whole environment; it holds TERM. `pty_output` is the file to create. The other arguments are those of
    `run_headless`. The terminal is left as it was found, the cursor on a line of its own. Raises UserError with the
    code `not_a_terminal`, SpawnFailed, and UserError when the file cannot be created.
    """
    if not (os.isatty(keyboard) and os.isatty(screen)):
        raise UserError(
            "an interactive session needs a terminal on stdin and stdout",
            code="not_a_terminal",
            hints=("give a message to run without one",),
        )
    with ExitStack() as stack:
        sink = stack.enter_context(closing(Sink(pty_output)))
        # Before the spawn, so that the exit status is not lost; none of these is called before the loop.
        acts: dict[int, Callable[[], None]] = {
            signal.SIGWINCH: lambda: resize(screen, child.fd),
            signal.SIGTSTP: lambda: job.suspend(),  # noqa: PLW0108  it comes later
            signal.SIGCONT: lambda: job.go_on(),  # noqa: PLW0108  it comes later
        }
        inbox = stack.enter_context(caught(ENDING, acts))
        child = _spawn(invocation, env, keyboard, screen)
        stack.callback(child.close)
        root = tree.root_of(child.pid, env)
        poll = partial(_poll, child)
        stack.callback(never_leave, poll, root)
        raw = Raw(keyboard)
        stack.callback(raw.restore)
        raw.set()
        resize(screen, child.fd)
        pump = stack.enter_context(closing(Pump()))
        watch = Lifetime(poll, root, pump, inbox, Limits(timeout, cancel=cancel))
        show = partial(_write, Outlet(screen), watch.must_end)
        drawn = Screen()
        stack.callback(lambda: show(drawn.off() + drawn.clean_line()))
        job = ShellJob(child.pid, child.fd, screen, raw, drawn, show, pump, watch.must_end)
        pump.read(os.dup(child.fd), sink.write, "pty-output", partial(_show, show, drawn, on_chunk))
        Keys(pump, keyboard, child.fd, job.suspend)
        if on_spawn:
            on_spawn(root.pid, root.created)
        outcome = watch.run()
        return outcome._replace(write_error=sink.error)


def _spawn(invocation: Invocation, env: Mapping[str, str], keyboard: int, screen: int) -> Any:
    """The engine as a ptyprocess.PtyProcess. Whatever could fail in the forked child is tried here before."""
    import ptyprocess

    argv, cwd = invocation.argv, invocation.cwd
    prepare = partial(_prepare, cwd, termios.tcgetattr(keyboard))
    try:
        _check_passable(argv, env)
        child = ptyprocess.PtyProcess.spawn(list(argv), env=dict(env), preexec_fn=prepare, dimensions=size(screen)[:2])
    except (OSError, ValueError) as error:
        raise SpawnFailed(argv, explain(_numbered(error, argv[0]), argv, cwd)) from None
    child.delayafterclose = 0.0  # it has ended when we close
    return child


def _check_passable(argv: tuple[str, ...], env: Mapping[str, str]) -> None:
    """Raise ValueError for what exec would refuse: in the forked child that would unwind our own stack there."""
    if any(b"\0" in os.fsencode(text) for text in (*argv, *env, *env.values())) or any("=" in name for name in env):
        raise ValueError


def _prepare(cwd: str, modes: list[Any]) -> None:
    """In the child, before the program: its directory, our terminal's modes, and the signals that Python ignores."""
    os.chdir(cwd)
    with suppress(termios.error):
        termios.tcsetattr(0, termios.TCSANOW, modes)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _numbered(error: OSError | ValueError, program: str) -> OSError | ValueError:
    """ptyprocess tells the number of an error of exec only."""
    if isinstance(error, OSError) and error.errno is None:
        return OSError(errno.EACCES if os.path.exists(program) else errno.ENOENT, str(error))
    return error


def _poll(child: Any) -> int | None:
    if child.isalive():
        return None
    status: int = child.exitstatus if child.signalstatus is None else -child.signalstatus
    return status


def _show(show: Callable[[bytes], None], drawn: Screen, on_chunk: OnChunk | None, source: Source, chunk: bytes) -> None:
    show(chunk)
    drawn.feed(chunk)
    if on_chunk:
        on_chunk(source, chunk)


def _write(screen: Outlet, hurry: Hurry, data: bytes) -> None:
    """All of it, unless the terminal is gone: then SIGHUP ends the engine and the recording continues till then."""
    with suppress(OSError):
        screen.pour(data, hurry)
