"""The program: which session is this branch's, and how its engine is asked to continue it.

Before it imports anything, it drops what PYTHONPATH says of the place where the person happens to be: an empty or
relative entry, or one in this repository. A tracked `click.py` would run there. Only `os` and `sys` are used, which
Python has loaded by then.
"""

import os
import sys


def _repository(path: str) -> str | None:
    """The git directory of the repository that this path lies in, the same for all of its work trees."""
    while not (os.path.isfile(f"{path}/.git") or os.path.lexists(f"{path}/.git/HEAD")):
        path, below = os.path.dirname(path), path
        if path == below:
            return None
    if not os.path.isfile(f"{path}/.git"):
        return os.path.realpath(f"{path}/.git")
    with open(f"{path}/.git", "rb") as file:
        named = os.fsdecode(file.read(4096)).strip().removeprefix("gitdir: ")
    return os.path.realpath(os.path.join(path, named)).partition("/worktrees/")[0]


def _searched(paths: list[str], environ: str, here: str) -> list[str]:
    """`paths` without the entries of PYTHONPATH that must not count; Python has made them absolute by now.

    Whoever works on git-agent itself runs what is in the work tree.
    """
    own, repository, code = os.path.realpath(here), _repository(os.path.realpath(here)), os.path.realpath(__file__)
    if repository and repository == _repository(code) and not code.startswith(f"{os.path.realpath(sys.prefix)}/"):
        return paths
    unsafe = {""}
    for entry in environ.split(os.pathsep):
        place = os.path.realpath(os.path.join(here, entry))
        if not os.path.isabs(entry) or place == own or (repository and _repository(place) == repository):
            unsafe |= {entry, os.path.abspath(os.path.join(here, entry)), place}
    return [path for path in paths if path not in unsafe]


if os.environ.get("PYTHONPATH") or "" in sys.path:
    try:
        sys.path[:] = _searched(sys.path, os.environ.get("PYTHONPATH", ""), os.getcwd())
    except OSError:  # the directory is gone: nothing of it can be imported
        sys.path[:] = [path for path in sys.path if os.path.isabs(path)]
