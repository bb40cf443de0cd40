"""The program's first and last moments: nothing is to be cleaned up then, so Ctrl-C must end it silently.

Only a module that is within Python is imported before that, or Python would print a traceback of our imports: `signal`
is a file, and takes as long as all the rest. While Python itself starts, a traceback is Python's.
"""

import _signal as signal  # type: ignore[import-not-found]  # typeshed knows only the file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """`git-agent`: its exit status."""
    return quietly(_program)


def quietly(program: "Callable[[], int]") -> int:
    """The exit status of `program`, which imports what it needs.

    Where SIGINT is ignored, as in a shell's background, it stays so.
    """
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from git_agent_runner.core.errors import INTERRUPTED
    from git_agent_runner.core.utf8 import in_utf8

    in_utf8()
    try:
        return program()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def hear() -> None:
    """Once all is imported: from here on Ctrl-C is an exception, and what is begun can be ended in order."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _program() -> int:
    from git_agent_runner import cli

    hear()
    return cli.main()


if __name__ == "__main__":  # in a window, and for each of several branches
    raise SystemExit(main())
