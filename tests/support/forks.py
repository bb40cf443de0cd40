"""Commands of `git-agent` from a process that has imported the program already: a fork costs a tenth of a start.

Each is still a process of its own, with the directory, environment and streams that it is given.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn


def run(words: Sequence[str], cwd: Path, environ: Mapping[str, str], patience: float) -> tuple[int, bytes, bytes]:
    """The exit status as subprocess counts it, stdout and stderr of `git-agent WORDS`, whose stdin is /dev/null.

    Raises subprocess.TimeoutExpired after `patience` seconds; the command has then been killed.
    """
    request = json.dumps([list(words), str(cwd), dict(environ)]).encode()
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.connect(_server())
        pipes = [os.pipe(), os.pipe()]
        out, err = (stack.enter_context(open(read, "rb", buffering=0)) for read, _ in pipes)
        socket.send_fds(server, [len(request).to_bytes(8, "big")], [write for _, write in pipes])
        for _, write in pipes:
            os.close(write)
        server.sendall(request)
        told = _read([server.fileno(), out.fileno(), err.fileno()], time.monotonic() + patience)
    pid, _, status = told[0].partition(b" ")
    if not status:
        os.kill(int(pid), signal.SIGKILL)
        raise subprocess.TimeoutExpired(["git-agent", *words], patience, told[1], told[2])
    return int(status), told[1], told[2]


def _read(files: list[int], until: float) -> list[bytes]:
    """Everything that comes from these files to their ends; less when the time is over."""
    found = {file: bytearray() for file in files}
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                data = os.read(key.fd, 1 << 16)
                found[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    return [bytes(found[file]) for file in files]


@cache
def _server() -> str:
    """The socket of this process's server, which ends with it."""
    place = Path(tempfile.mkdtemp(prefix="forks-"), "socket")
    end, held = os.pipe()
    code = f"from support.forks import serve; serve({str(place)!r})"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen((sys.executable, "-P", "-c", code), env=environ, stdin=end, stdout=subprocess.PIPE)
    os.close(end)
    os.set_inheritable(held, False)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return str(place)


def serve(place: str) -> None:
    """Answer until stdin ends, which is when whoever started this is gone."""
    import git_agent_runner

    for module in pkgutil.walk_packages(git_agent_runner.__path__, "git_agent_runner."):
        import_module(module.name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever answers a request is nobody's to wait for
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(place)
        listener.listen(64)
        selector.register(0, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        print("ready", flush=True)
        while all(key.fd != 0 for key, _ in selector.select()):
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()
    os.unlink(place)
    os.rmdir(os.path.dirname(place))


def _answer(connection: socket.socket) -> NoReturn:
    """Run what is asked for, and say its process id at once and its exit status when it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(connection, 8, 2)
    request = bytearray()
    while len(request) < int.from_bytes(head, "big"):
        request += connection.recv(1 << 16)
    words, cwd, environ = json.loads(request)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(words, cwd, environ, streams)
    for stream in streams:
        os.close(stream)
    connection.sendall(f"{pid} ".encode())
    _, status = os.waitpid(pid, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(words: list[str], cwd: str, environ: dict[str, str], streams: list[int]) -> NoReturn:
    """What `python -m git_agent_runner.cli WORDS` does, from its first line to its exit status."""
    from git_agent_runner import cli

    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    for number, stream in enumerate([os.open(os.devnull, os.O_RDONLY), *streams]):
        os.dup2(stream, number)
    os.closerange(3, 256)
    sys.argv = ["git-agent", *words]
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb"), "utf-8", "surrogateescape")
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), "utf-8", "surrogateescape")
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb"), "utf-8", "backslashreplace", line_buffering=True)
    status: object = 1
    try:
        status = cli.main(words)
    except SystemExit as end:
        status = end.code
    except BaseException:  # noqa: BLE001  as the interpreter does, whatever it is
        sys.excepthook(*sys.exc_info())
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # as the interpreter itself does
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(status if isinstance(status, int) else 0)
