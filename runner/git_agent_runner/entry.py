"""The program's first and last moments: nothing is to be cleaned up then, so Ctrl-C must end it without a word.

Only `signal` is imported before that, or Python would print a traceback of our imports.
"""

from __future__ import annotations

import signal


def main() -> int:
    """Where SIGINT is ignored, as in a shell's background, it stays so."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from git_agent_runner import cli
    from git_agent_runner.errors import INTERRUPTED

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return cli.main()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
