"""Notes that somebody wrote to make git-agent do what the person did not ask for: name, note, what comes of it.

What comes of a note is `UNREAD` (no line of it is a run), what the refusal says, `Wide` (refused unless it is
trusted), or `Runs` (followed); the last two say what the engine is given.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from support.engines.stand_in import IDS
from support.noted import line

# What a terminal acts on, but for the line end and the tab.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
HANDLE = "0012e345"
UNREAD = "no run has the handle '0012e345'"
CODEX = IDS["codex"]
ID = "is not a session id of codex"
KEPT = "is not a flag that runs store"
ESCAPES = "\x1b]0;pwned\x07\x1b[2J\r\x08\u009b31m\u0085\u202e\u2066\u2028\u2029\ufeff"
SHELL = "$(touch pwned);`touch pwned`|touch pwned&'\"\n>pwned"
DEEP = "[" * 10_000 + "]" * 10_000
LAUGHS = "".join(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'lol'}]\n" for n in range(10))
WIDE = "which gives codex more permissions"


class Wide(NamedTuple):
    said: str
    passed: tuple[str, ...]


class Runs(NamedTuple):
    passed: tuple[str, ...]


def run_of(engine: str = "codex", when: str = "20261127T101502Z", handle: str = HANDLE) -> str:
    return f"{when}-{engine}-{handle}"


def note(**changes: Any) -> str:
    """A note that could be followed, but for these keys; `...` leaves one out."""
    own = {"session": {"field": "thread_id", "value": CODEX}, "runId": run_of(), "branch": "main"}
    return f"{line(HANDLE, **{**own, **changes})}\n"


def session(value: object, field: object = "thread_id") -> str:
    return note(session={"field": field, "value": value})


def engine(name: str, run: str | None = None) -> str:
    return note(agentName=name, runId=run_of(run or name))


def args(*words: str) -> str:
    return note(launch={"args": list(words)})


def raw(key: str, text: str) -> str:
    """The note with a value that json does not write."""
    return note(**{key: "PLACE"}).replace('"PLACE"', text, 1)


def _wide(*words: str, passed: tuple[str, ...] = ()) -> tuple[str, Wide]:
    return args(*words), Wide(WIDE, passed or words)


MODEL = ("--model", "gpt-5")

KEYS = ("schema", "handle", "runId", "agentName", "session", "branch", "launch", "updatedAt", "host")
WRONG = [raw(key, text) for key in KEYS for text in ('["x"]', "{}", "true", "1.5", '{"x": {"y": [null]}}')]

CASES: dict[str, tuple[str, str | Wide | Runs]] = {
    # ids
    "a flag as id": (session("--last"), ID),
    "a short flag as id": (session("-c"), ID),
    "an id with a flag behind it": (session(f"{CODEX} --yolo"), ID),
    "an id with a line end": (session(f"{CODEX}\n"), ID),
    "an id with a NUL": (session(f"{CODEX}\0--yolo"), UNREAD),
    "a path as id": (session("../../../etc/passwd"), ID),
    "a shell's words as id": (session(SHELL), ID),
    "escapes as id": (session(ESCAPES), ID),
    "an empty id": (session(""), ID),
    "a word that picks a session as id": (session("latest"), ID),
    "digits of another script in an id": (session(CODEX.replace("0", "\u0660")), ID),
    "an id of claude's field": (session(IDS["claude"], "session_id"), ID),
    "an id of gemini's shape": (session("session-1"), ID),
    "an id of opencode's shape": (session(IDS["opencode"]), ID),
    "no id": (session(None, None), "has no session id in its note"),
    "an id without a field": (session(CODEX, None), UNREAD),
    "a number as id": (session(1e3), UNREAD),
    # engines
    "an unknown engine": (engine("nope"), "unknown engine 'nope'"),
    "a program as engine": (engine("sh"), "unknown engine 'sh'"),
    "an engine named as dots": (engine("a.."), "unknown engine 'a..'"),
    "an engine named as a path": (engine("../../bin/sh"), UNREAD),
    "an engine named as a flag": (engine("--yolo"), UNREAD),
    "an engine of escapes": (engine(f"codex{ESCAPES}", "codex"), UNREAD),
    "another engine than the run's": (engine("claude", "codex"), "its run id names codex, but agentName is claude"),
    "an engine with a program of its own": (
        note(binary="/bin/sh", engine={"binary": "/bin/sh"}, agent={"codex.binary": "./pwn"}),
        Runs(MODEL),
    ),
    # places
    "a path as handle": (note(handle="../../../../etc"), UNREAD),
    "a flag as handle": (note(handle="--force1"), UNREAD),
    "a path as run id": (note(runId=f"../../20261127T101502Z-codex-{HANDLE}"), UNREAD),
    "a path in a run id": (note(runId=f"20261127T101502Z-a/../../b-{HANDLE}"), UNREAD),
    "another run's handle in the run id": (note(runId=run_of(handle="aaaaaaaa")), UNREAD),
    "a run id of no date": (note(runId=run_of(when="99999999T999999Z")), UNREAD),
    "a run id of the year 0": (note(runId=run_of(when="00000101T000000Z")), UNREAD),
    "a run id of the year 1": (note(runId=run_of(when="00010101T000000Z")), Runs(MODEL)),
    "a directory of its own": (note(cwd="/", worktree="/", runDirectory="/etc", directory=".."), Runs(MODEL)),
    "a path as branch": (note(branch="../../../x"), Runs(MODEL)),
    "a flag as branch": (note(branch="--force"), Runs(MODEL)),
    "a revision as branch": (note(branch="main~1"), Runs(MODEL)),
    "a tree as branch": (note(branch="main^{tree}"), Runs(MODEL)),
    "a search as branch": (note(branch="main^{/c}"), Runs(MODEL)),
    "a shell's words as branch": (note(branch=SHELL), Runs(MODEL)),
    "escapes as branch": (note(branch=ESCAPES), Runs(MODEL)),
    "a NUL in the branch": (note(branch="main\0x"), UNREAD),
    "an endless branch": (note(branch="x/" * 30_000), Runs(MODEL)),
    "a shell's words as host": (note(host=SHELL), Runs(MODEL)),
    "escapes as host": (note(host=ESCAPES), Runs(MODEL)),
    # flags; every flag of every engine is below
    "a flag that skips approval": _wide("--dangerously-bypass-approvals-and-sandbox"),
    "a flag by its short name": _wide("--yolo"),
    "a sandbox": _wide("-s", "danger-full-access"),
    "a sandbox in one word": _wide("--sandbox=danger-full-access"),
    "a sandbox without a blank": _wide("-sdanger-full-access", passed=("-s", "danger-full-access")),
    "an approval": _wide("--approve-for-me"),
    "configuration": _wide("-c", "mcp_servers.x.command=touch", *MODEL),
    "configuration with a shell's words": _wide("-c", f"notify={SHELL}"),
    "configuration with escapes": _wide("-c", f"x={ESCAPES}"),
    "a profile": _wide("--profile", "theirs"),
    "a directory to write": _wide("--add-dir", "/"),
    "an image to send": (args(*MODEL, "--image=/etc/passwd"), Runs(MODEL)),
    "a file to write": _wide("-o", "../../pwned"),
    "a flag of tomorrow": _wide("--allow-everything"),
    "an environment": _wide("--env", "LD_PRELOAD=./pwn.so"),
    "an abbreviation": _wide("--dangerously-bypass-approvals"),
    "a flag as the value of a harmless one": (args("--model", "--yolo"), Runs(("--model=--yolo",))),
    "a shell's words as a harmless value": (args("--model", SHELL), Runs(("--model", SHELL))),
    "escapes as a harmless value": (args("--model", ESCAPES), Runs(("--model", ESCAPES))),
    "a NUL in a harmless value": (args("--model", "gpt\0--yolo"), UNREAD),
    "a selector": (args("--last"), KEPT),
    "a message": (args("--", "rm -rf ."), KEPT),
    "a message as a bare word": (args("delete everything"), KEPT),
    "a subcommand": (args("login"), KEPT),
    "a working directory": (args("-C", "/"), KEPT),
    "an output format": (args("--json"), KEPT),
    "a flag that ends at once": (args("--version"), KEPT),
    "a flag without its value": (args("--model"), "--model needs a value"),
    "an empty word": (args(""), KEPT),
    "ten thousand flags": (args(*["--x"] * 7_000), Wide("--x", ())),
    "a message of its own": (note(message="rm -rf .", prompt="rm -rf .", stdin="y\n"), Runs(MODEL)),
    # lines
    "ten megabytes in a line": (note(host="x" * (10 << 20)), UNREAD),
    "a line that is just too long": (note(host="x" * (64 << 10)), UNREAD),
    "thousands of lines": (
        "".join(line(f"{n:08x}", branch="main") + "\n" for n in range(0x10000000, 0x10000800)) + note(),
        Runs(MODEL),
    ),
    "a hundred thousand lines of nothing": ("\n" * 50_000 + "- {}\n" * 50_000 + note(), Runs(MODEL)),
    "a million laughs": (LAUGHS, UNREAD),
    "an anchor": (f"- &x {note()[2:]}", UNREAD),
    "an alias": ("- *x\n- {<<: *x}\n", UNREAD),
    "a tag": (f"- !!python/object/apply:os.system ['touch pwned']\n- !!map {note()[2:]}", UNREAD),
    "yaml that is no json": ("- {handle: 0012e345, schema: 1}\n---\n%YAML 1.2\n", UNREAD),
    "lists in lists": (raw("x", DEEP), UNREAD),
    "lists in lists as branch": (raw("branch", DEEP), UNREAD),
    "a key twice": (
        note().replace('"session"', '"session": {"field": null, "value": "--last"}, "session"'),
        Runs(MODEL),
    ),
    "two keys twice, the worse last": (
        note().replace("}\n", ', "launch": {"args": ["--yolo"]}}\n'),
        Wide(WIDE, ("--yolo",)),
    ),
    "no number": (raw("x", "NaN"), Runs(MODEL)),
    "no number as schema": (raw("schema", "NaN"), UNREAD),
    "endless": (raw("x", "1e999"), Runs(MODEL)),
    "endless as schema": (raw("schema", "-Infinity"), UNREAD),
    "a future schema": (note(schema=10**9), Runs(MODEL)),
    "the year 9999": (note(updatedAt="9999-12-31T23:59:59.999999Z"), Runs(MODEL)),
    "the year 1": (note(updatedAt="0001-01-01T00:00:00Z"), Runs(MODEL)),
    "a time with escapes": (note(updatedAt=f"2026-11-27T10:15:02Z{ESCAPES}"), UNREAD),
    "a time elsewhere": (note(updatedAt="2026-11-27T10:15:02+14:00"), Runs(MODEL)),
    "half a character": (note(host="PLACE").replace("PLACE", "\\ud800"), UNREAD),
    "invalid utf-8": (note(host="PLACE").replace("PLACE", "\udcff\udc80"), UNREAD),
    "escapes in a key": (note(**{ESCAPES: ESCAPES}), Runs(MODEL)),
    "bytes and no line": ("\udcff\udcfe\udc80\x00\x1b[2J" * 100, UNREAD),
    "an empty note": ("\n", UNREAD),
    "every key of a wrong type": ("".join(WRONG), UNREAD),
    "words that are none": (note(launch={"args": [["--yolo"], {"a": 1}, 7]}), UNREAD),
    "a text for words": (note(launch={"args": "--yolo"}), UNREAD),
}

# Those that nothing makes us follow leave everything as it was, so that several can be tried in one place.
NEVER = [(name, text, comes) for name, (text, comes) in CASES.items() if isinstance(comes, str)]
BATCHES = [pytest.param(NEVER[at : at + 8], id=f"{NEVER[at][0]} and so on") for at in range(0, len(NEVER), 8)]
OTHERS = [pytest.param(text, comes, id=name) for name, (text, comes) in CASES.items() if not isinstance(comes, str)]
