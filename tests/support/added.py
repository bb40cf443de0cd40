"""An engine of a person's own: a profile file, and a small program that it describes."""

from __future__ import annotations

import sys
from pathlib import Path

from git_agent_runner.engines import declared, profile_form
from git_agent_runner.engines.spec import Engine

SESSION = "0199c9a8-5b1e-7a10-8f00-1234567890ab"
HEAD = """\
schema: 1
binary: mine
install: ask a friend
source: a test
since: 1.0
example: {version: 1.10, session: 0199c9a8-5b1e-7a10-8f00-1234567890ab}
session: {field: session, shape: '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', event: open, path: session}
"""
FORMS = """\
start: {argv: [run, '{flags}'], stdin: true}
resume: {argv: [run, '{flags}', --session, '{session}'], stdin: true}
"""
READING = """\
options:
  - {names: [--model, -m], value: one, role: model}
  - {names: --yolo, role: permission, widens: true}
  - {names: [--session, -s], value: one, role: selector}
events:
  said: {gives: message, text: text}
  done: {gives: end, status: completed}
ignored:
  tick: nothing is said
errors:
  - {line: 'no such session', status: session_missing}
store:
  folder: .mine
  files: '{session}.jsonl'
  first-line: {session: session, directory: cwd, created: at}
"""
PROFILE = HEAD + FORMS + READING
# It keeps its sessions as the profile says, tells how many texts it has heard, and knows no session but its own.
PROGRAM = f"""\
#!{sys.executable}
import json, os, pathlib, sys, uuid
words = sys.argv[1:]
if words == ["--version"]:
    print("mine 1.10")
    raise SystemExit
store = pathlib.Path(os.environ["HOME"], ".mine")
store.mkdir(exist_ok=True)
asked = words[words.index("--session") + 1] if "--session" in words else None
session = asked or str(uuid.uuid4())
file = store / f"{{session}}.jsonl"
if asked and not file.exists():
    print("no such session", file=sys.stderr)
    raise SystemExit(3)
if not asked:
    head = {{"session": session, "cwd": os.getcwd(), "at": "2199-01-01T00:00:00Z"}}
    file.write_text(json.dumps(head) + "\\n")
with file.open("a") as kept:
    kept.write(json.dumps(sys.stdin.read()) + "\\n")
told = " ".join(words[1:]) + " | " + " | ".join(map(json.loads, file.read_text().splitlines()[1:]))
for event in ({{"type": "open", "session": session}}, {{"type": "said", "text": told}}, {{"type": "done"}}):
    print(json.dumps(event))
"""


def engine(text: str = PROFILE, name: str = "mine") -> Engine:
    """The engine that this profile describes. Raises form.FormError."""
    found = profile_form.read(text, name)
    return declared.engine(name, found.declared, found.rules.session)


def add(home: Path, text: str = PROFILE, name: str = "mine") -> Path:
    """Put a profile where a person's are, below `home`; its path."""
    path = home / ".config/git-agent/engines" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def program(home: Path) -> Path:
    """Put the program beside; its path."""
    path = home / "bin/mine"
    path.parent.mkdir(exist_ok=True)
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path
