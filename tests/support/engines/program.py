#!/usr/bin/env -S python3 -IS
"""A stand-in for an engine, named by the link it is called through; what it does is in stand_in.py.

What an engine prints of itself is here: most processes of the tests are for this, so that little is imported before.
Python reads neither its environment nor its packages, and stand_in.py compiled.
"""

from __future__ import annotations

import os
import sys

VERSIONS = {
    "codex": "codex-cli {}",
    "claude": "{} (Claude Code)",
    "gemini": "{}",
    "opencode": "{}",
    "iflow": "{}",
    "qwen": "{}",
    "copilot": "GitHub Copilot CLI {}.",
}
NEWEST = {
    "codex": "0.171.0",
    "claude": "2.1.332",
    "gemini": "0.61.0",
    "opencode": "1.18.33",
    "iflow": "0.5.19",
    "qwen": "0.24.4",
    "copilot": "1.0.102",
}


def described(engine: str, argv: list[str]) -> str | None:
    """What an engine prints of itself. Most processes of the tests are for this, so that little is imported before."""
    if "--version" in argv:
        return VERSIONS[engine].format(os.environ.get("FAKE_VERSION") or NEWEST[engine])
    return os.environ.get("FAKE_HELP", "") if "--help" in argv else None


if __name__ == "__main__":
    if (text := described(os.path.basename(sys.argv[0]), sys.argv[1:])) is not None:
        print(text)
        sys.exit(0)
    sys.path.append(os.path.abspath(f"{os.path.realpath(__file__)}/../../.."))  # pytest's path is not ours
    from support.engines import stand_in

    sys.exit(stand_in.main())
