"""What gemini makes of `@name` in a message: a file that it attaches, found by a part of its path too.

Read in 0.61.0 (`atCommandProcessor.ts`) and tried on 0.36.0 and 0.61.0, which do the same. An exact relative path stays
as it is. For a part of one, in whatever case, gemini writes the path of the first file that matches `**/*name*`, for a
directory `name/**`. `\\@name` it leaves alone, and leaves the backslash in: there is no way to send the bare name.
"""

from __future__ import annotations

import os
import re

from git_agent_runner.engines.spec import Launch
from git_agent_runner.git import run

_NAMED = re.compile(r"(?<!\\)@((?:\"[^\"]*\"|\\.|[^ \t\n\r,;!?()\[\]{}.\"]|\.(?!$|[ \t\n\r]))+)")


def note(launch: Launch) -> str | None:
    """One line to say when gemini will send another text than the message. Reads the directory, by git's eyes."""
    names = [re.sub(r"\\(.)", r"\1", name) for name in dict.fromkeys(_NAMED.findall(launch.message or ""))]
    found = _directory(launch.cwd, names) or _file(launch.cwd, names)
    if found is None:
        return None
    name, path = found
    return (
        f"gemini takes '@{name}' for '{path}': it writes that instead and attaches the content;"
        f" '\\@{name}' it leaves alone, backslash and all"
    )


def _directory(cwd: str, names: list[str]) -> tuple[str, str] | None:
    there = (name for name in names if os.path.isdir(os.path.join(cwd, name)))
    return next(((name, f"{name.rstrip('/')}/**") for name in there), None)


def _file(cwd: str, names: list[str]) -> tuple[str, str] | None:
    """Git looks through the work tree once for all of them; the name that it was found by may be a pattern."""
    # A name that leads out of the repository is an error to git.
    parts = [name for name in names if ".." not in name.split("/") and not os.path.exists(os.path.join(cwd, name))]
    if not parts:
        return None
    patterns = (f":(icase,glob)**/*{name}*" for name in parts)
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns)
    path = run(words, cwd=cwd, check=False).out.partition("\0")[0]
    name = next((name for name in parts if name.lower() in path.lower()), parts[0])
    return (name, path) if path else None
