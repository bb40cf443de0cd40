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
_LOOKED_AT = 20  # names, each of which costs a git process


def note(launch: Launch) -> str | None:
    """One line to say when gemini will send another text than the message. Reads the directory, by git's eyes."""
    names = dict.fromkeys(_NAMED.findall(launch.message or ""))
    for name in list(names)[:_LOOKED_AT]:
        if found := _instead(launch.cwd, name):
            return (
                f"gemini takes '@{name}' for '{found}': it writes that instead and attaches the content;"
                f" '\\@{name}' it leaves alone, backslash and all"
            )
    return None


def _instead(cwd: str, name: str) -> str | None:
    name = re.sub(r"\\(.)", r"\1", name)
    path = os.path.join(cwd, name)
    if os.path.isdir(path):
        return f"{name.rstrip('/')}/**"
    if os.path.exists(path):
        return None
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", f":(icase,glob)**/*{name}*")
    return run(words, cwd=cwd, check=False).out.partition("\0")[0] or None
