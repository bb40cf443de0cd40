#!/usr/bin/env python3
"""Processes that behave as engines and their launchers were seen to: `behave.py NAME [ARGUMENT]`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
import time
import tty

HERE = os.path.abspath(__file__)
FOREVER = 600.0


def say(*words: object, end: str = "\n") -> None:
    os.write(1, (" ".join(map(str, words)) + end).encode())  # in one piece, however Python is told to buffer


def flood(size: str) -> None:
    """That many bytes on stdout, in one line."""
    block = b"x" * 65536
    left = int(size)
    while left > 0:
        left -= os.write(1, block[:left])


def hang(status: str = "0") -> None:
    """Prints, then works for ever; SIGINT ends it with the status (claude and gemini say 0)."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(int(status)))
    say("ready", os.getpid())
    time.sleep(FOREVER)


def deaf(*names: str) -> None:
    """Counts the signals it was told to ignore, one line each."""
    for name in names:
        signal.signal(getattr(signal, name), lambda number, _: say(signal.Signals(number).name))
    say("ready", os.getpid())
    while True:
        time.sleep(FOREVER)


def launcher(*rest: str) -> None:
    """Runs itself as a child in a session of its own and waits for it, as codex.js does."""
    child = subprocess.Popen([sys.executable, HERE, *rest], start_new_session=True)
    sys.exit(child.wait())


def shim(*rest: str) -> None:
    """Leaves at once and lets its child work on."""
    subprocess.Popen([sys.executable, HERE, *rest], start_new_session=True)


def daemon(seconds: str = "60") -> None:
    """Finishes its work, but a child keeps the output open (codex/0.171.0 20d leaves an app-server)."""
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"], start_new_session=True)
    say("done", child.pid)


def chatterbox() -> None:
    """Finishes, but a child goes on writing for ever."""
    code = "while True: print('still here', flush=True)"
    say("done", subprocess.Popen([sys.executable, "-c", code], start_new_session=True).pid)


def half_closed(seconds: str) -> None:
    """Closes its output early and works on."""
    say("closing")
    os.close(1)
    os.close(2)
    time.sleep(float(seconds))
    os._exit(7)


def quiet(seconds: str) -> None:
    """A pause between two lines."""
    say("before")
    time.sleep(float(seconds))
    say("after")


def echo() -> None:
    """stdin to stdout, whole."""
    sys.stdout.buffer.write(sys.stdin.buffer.read())


def careless() -> None:
    """Does not read its stdin."""
    os.close(0)
    say("not interested")
    time.sleep(0.2)


def late(folder: str) -> None:
    """Reads its stdin only when FOLDER/gate is there, and writes it to FOLDER/got."""
    say("ready", os.getpid())
    while not os.path.exists(f"{folder}/gate"):
        time.sleep(0.02)
    with open(f"{folder}/reading", "wb") as file:
        file.write(sys.stdin.buffer.read())
    os.rename(f"{folder}/reading", f"{folder}/got")


def full_pipe() -> None:
    """On SIGINT it has much to say before it ends."""

    def finish(*_: object) -> None:
        flood("3000000")
        os._exit(0)

    signal.signal(signal.SIGINT, finish)
    say("ready", os.getpid())
    time.sleep(FOREVER)


def tty_facts() -> None:
    """What a full-screen program asks of its terminal first."""
    foreground = os.tcgetpgrp(0) == os.getpgrp()
    say(os.environ.get("TERM"), os.isatty(0), os.isatty(1), os.isatty(2), foreground, *os.get_terminal_size())
    say("erase", termios.tcgetattr(0)[6][termios.VERASE])


def resized() -> None:
    """Tells its new size, once."""

    def tell(*_: object) -> None:
        say("size", *os.get_terminal_size())
        os._exit(0)

    signal.signal(signal.SIGWINCH, tell)
    say("ready", os.getpid())
    time.sleep(FOREVER)


def keys() -> None:
    """Every byte that is typed, in hexadecimal, up to a q."""
    tty.setraw(0)
    say("ready", os.getpid())
    typed = b""
    while not typed.endswith(b"q"):
        typed += os.read(0, 1024)
    say(typed.hex())


def draws(after: str = "0") -> None:
    """A full-screen program: draws itself for each size, tells at the end what was typed, and tidies nothing up.

    `after` that many seconds, as on a busy machine.
    """
    tty.setraw(0)
    os.write(1, b"\x1b[?1049h\x1b[?25l\x1b[?1003h\x1b[?2004h\x1b[>1u")

    def draw(*_: object) -> None:
        time.sleep(float(after))
        say("\rdrawn", *os.get_terminal_size(), end="")

    signal.signal(signal.SIGWINCH, draw)
    say("ready", os.getpid(), end=" ")
    draw()
    typed = b""
    while not typed.endswith(b"q"):
        typed += os.read(0, 1024)
    say(typed.decode(), end="")


def paste(size: str) -> None:
    """Fills its screen before it reads what was pasted."""
    tty.setraw(0)
    say("ready", os.getpid())
    time.sleep(0.3)
    flood("500000")
    left = int(size)
    while left > 0:
        left -= len(os.read(0, 4096))
    say("all")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
