"""An engine of a person's own: a profile file, and a small program that it describes."""

from __future__ import annotations

import sys
from pathlib import Path

from git_agent_runner.engines.added import declared, profile_form
from git_agent_runner.engines.spec import Engine
from support.docs import ROOT

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

WREN = ROOT / "docs/examples/wren.yaml"
# Its sessions are in a database, a resume copies the one that it continues, and its exit status tells what failed.
WREN_PROGRAM = f"""\
#!{sys.executable}
import json, os, pathlib, sqlite3, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("wren 2.1")
    raise SystemExit
folder = pathlib.Path(os.environ["HOME"], ".wren")
folder.mkdir(exist_ok=True)
store = sqlite3.connect(folder / "chats.db")
store.execute("CREATE TABLE IF NOT EXISTS chats (id TEXT, dir TEXT, made INTEGER, heard TEXT)")
asked = words[words.index("--chat") + 1] if "--chat" in words else None
(number,) = store.execute("SELECT count(*) FROM chats").fetchone()
chat = f"w-{{number + 26:08x}}"
message = next((word.removeprefix("--ask=") for word in words if word.startswith("--ask=")), None) or sys.stdin.read()
heard = [row[0] for row in store.execute("SELECT heard FROM chats WHERE id = ?", (asked,))]
told = " | ".join([*heard, message])
place = words[0].removeprefix("--dir=")
store.execute("INSERT INTO chats VALUES (?, ?, ?, ?)", (chat, place, 7258118400000, told))
store.commit()
if "AUTHFAIL" in message:
    print(json.dumps({{"type": "refused", "chat": chat, "why": "401 Unauthorized"}}))
    raise SystemExit(1)
for event in ({{"type": "begun", "chat": chat}}, {{"type": "said", "text": f"{{place}} {{told}}"}}, {{"type": "over"}}):
    print(json.dumps(event))
raise SystemExit(3 if "BREAK" in message else 0)
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


def program(home: Path, name: str = "mine", text: str = PROGRAM) -> Path:
    """Put the program beside; its path."""
    path = home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
