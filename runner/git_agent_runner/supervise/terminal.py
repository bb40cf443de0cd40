"""One engine in the person's own terminal: every key to the engine, every byte to the screen and to the disk."""

from __future__ import annotations

import errno
import fcntl
import os
import selectors
import signal
import struct
import termios
import tty
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from git_agent_runner.errors import UserError
from git_agent_runner.supervise import tree
from git_agent_runner.supervise.capture import Outlet, Pump, Sink
from git_agent_runner.supervise.signals import ENDING, caught
from git_agent_runner.supervise.spawn import SpawnFailed, explain, never_leave
from git_agent_runner.supervise.watch import Limits, Outcome, Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from git_agent_extractors.model import Source
    from git_agent_runner.engines.spec import Invocation
    from git_agent_runner.supervise.capture import Hurry, OnChunk

# What a full-screen program that was killed leaves on: hidden cursor, alternate screen, bracketed paste, focus and
# mouse reports, kitty keyboard, colours. Saving the cursor first keeps it in place when no other screen was shown.
RESET = b"\x1b7\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[<9u\x1b[0m"

_SIZE = struct.Struct("HHHH")  # rows, columns, width and height in pixels


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
    """Run the invocation in a terminal of its own that is shown in ours. Call it from the main thread.

    All keys go to the engine, Ctrl-C and Ctrl-Z too: the engine decides what they mean. `env` is its whole
    environment; it holds TERM. `pty_output` is the file to create. The other arguments are those of `run_headless`.
    The terminal is left as it was found. Raises UserError with the code `not_a_terminal`, SpawnFailed, and UserError
    when the file cannot be created.
    """
    if not (os.isatty(keyboard) and os.isatty(screen)):
        raise UserError(
            "an interactive session needs a terminal on stdin and stdout",
            code="not_a_terminal",
            hints=("give a message to run without one",),
        )
    with ExitStack() as stack:
        sink = stack.enter_context(closing(Sink(pty_output)))
        # Before the spawn, so that the exit status is not lost; the size is first asked for in the loop.
        inbox = stack.enter_context(caught(ENDING, {signal.SIGWINCH: lambda: _resize(screen, child.fd)}))
        child = _spawn(invocation, env, keyboard, screen)
        stack.callback(child.close)
        root = tree.root_of(child.pid, env)
        poll = partial(_poll, child)
        stack.callback(never_leave, poll, root)
        stack.enter_context(_raw(keyboard))
        _resize(screen, child.fd)
        pump = stack.enter_context(closing(Pump()))
        watch = Watch(poll, root, pump, inbox, Limits(timeout, cancel=cancel))
        show = partial(_write, Outlet(screen), watch.must_end)
        pump.read(os.dup(child.fd), sink.write, "pty-output", partial(_show, show, on_chunk))
        _Keys(pump, keyboard, child.fd)
        if on_spawn:
            on_spawn(root.pid, root.created)
        outcome = watch.run()
        if outcome.signals or outcome.exit_status is None or outcome.exit_status < 0:
            show(RESET)
        return outcome._replace(write_error=sink.error)


class _Keys:
    """What was typed goes to the engine in order; more is read only when the engine has taken it.

    A long paste must not block us: the engine would wait for us to read, and we for it.
    """

    def __init__(self, pump: Pump, keyboard: int, engine: int) -> None:
        self._pump, self._keyboard, self._engine = pump, keyboard, engine
        self._typed = b""
        os.set_blocking(engine, False)
        pump.watch(keyboard, self._take)

    def _take(self) -> None:
        self._pump.forget(self._keyboard)
        with suppress(OSError):  # our terminal is gone, and SIGHUP tells
            self._typed = os.read(self._keyboard, 4096)
        if self._typed:
            self._pump.watch(self._engine, self._give, selectors.EVENT_WRITE)

    def _give(self) -> None:
        try:
            self._typed = self._typed[os.write(self._engine, self._typed) :]
        except BlockingIOError:
            return
        except OSError:
            self._typed = b""  # the engine is gone
        if not self._typed:
            self._pump.forget(self._engine)
            self._pump.watch(self._keyboard, self._take)


def _spawn(invocation: Invocation, env: Mapping[str, str], keyboard: int, screen: int) -> Any:
    """The engine as a ptyprocess.PtyProcess. Whatever could fail in the forked child is tried here before."""
    import ptyprocess

    argv, cwd = invocation.argv, invocation.cwd
    prepare = partial(_prepare, cwd, termios.tcgetattr(keyboard))
    try:
        _check_passable(argv, env)
        child = ptyprocess.PtyProcess.spawn(list(argv), env=dict(env), preexec_fn=prepare, dimensions=_size(screen)[:2])
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


@contextmanager
def _raw(keyboard: int) -> Iterator[None]:
    """Keys unchanged and one by one. What is typed ahead stays for the shell."""
    modes = termios.tcgetattr(keyboard)
    tty.setraw(keyboard, termios.TCSADRAIN)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal itself is gone
            termios.tcsetattr(keyboard, termios.TCSADRAIN, modes)


def _size(screen: int) -> tuple[int, int, int, int]:
    """Of a terminal that does not know its size, that of the oldest ones."""
    rows, columns, width, height = _SIZE.unpack(fcntl.ioctl(screen, termios.TIOCGWINSZ, bytes(_SIZE.size)))
    return (rows, columns, width, height) if rows and columns else (24, 80, 0, 0)


def _resize(screen: int, engine: int) -> None:
    """The kernel tells the engine with a SIGWINCH of its own."""
    with suppress(OSError):  # either may be gone
        fcntl.ioctl(engine, termios.TIOCSWINSZ, _SIZE.pack(*_size(screen)))


def _show(show: Callable[[bytes], None], on_chunk: OnChunk | None, source: Source, chunk: bytes) -> None:
    show(chunk)
    if on_chunk:
        on_chunk(source, chunk)


def _write(screen: Outlet, hurry: Hurry, data: bytes) -> None:
    """All of it, unless the terminal is gone: then SIGHUP ends the engine and the recording goes on till then."""
    with suppress(OSError):
        screen.pour(data, hurry)
