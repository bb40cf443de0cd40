"""A stand-in for an engine, named by the link it is called through (program.py): codex, claude, gemini, opencode,
iflow, qwen, copilot.

It appends one JSON line to $FAKE_LOG (engine, argv, cwd, stdin, stdin_kind, env), prints a short transcript as the
newest recorded version of that engine does, keeps the session in the engine's own store (stores.py), and exits with
$FAKE_EXIT. $FAKE_ID is the session it reports ("none": none at all), else the one that its arguments ask for, else one
of its own ("new": a fresh one). $FAKE_UNKNOWN says what it does when asked to resume: "new" starts another
conversation in silence, "fail" says that there is no such session. $FAKE_CMD runs in a shell after the session was
printed, $FAKE_END after everything; $FAKE_OUT is a file printed instead of the transcript,
$FAKE_SAY what it says instead of "ok", $FAKE_REVIEW a word: it says `block: WORD` if it was given that, else `pass:`,
and $FAKE_WORDS what a wrapper says instead of starting the engine. `--version` prints
$FAKE_VERSION, `--help` $FAKE_HELP. `env` holds GIT_* and PWD, and what $FAKE_ENV names. In a terminal it waits for a
line, answers in its store, and says goodbye; SIGINT ends it in the middle of the turn.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from contextlib import suppress

from support.engines import stores

IDS = {
    "codex": "01a21f23-5ab8-7ef1-9437-807dbdda8fbf",
    "claude": "8fe03d74-77e1-4cea-9127-7d706ad98311",
    "gemini": "caf7a365-1113-40be-9292-60c7f4874ac7",
    "opencode": "ses_de0d732d2ffeZz8jXsLhQ5769v",
    "iflow": "session-c0ffee00-dddd-4aaa-9bbb-0123456789ab",
    "qwen": "46f1320d-7d5a-43e6-ad12-472c559b373e",
    "copilot": "f2dfd341-2c5a-4931-8d0e-4850aae6a0af",
}
# The word or flag before the session that is asked for.
SELECTORS = {
    "codex": r"resume",
    "claude": r"--resume|-r|--session-id",
    "gemini": r"--resume|-r|--session-id",
    "opencode": r"--session|-s",
    "iflow": r"--resume|-r",
    "qwen": r"--resume|-r|--session-id",
    "copilot": r"--resume|-r|--session-id",
}
SESSION = re.compile(r"(session-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_\w{26}")
# What each prints on stderr, and its exit status, for a session that it does not have: codex/0.171.0/
# 07a-resume-unknown-json, claude/2.1.332/resume-unknown-stream-json, gemini/0.61.0/resume-unknown-json,
# opencode/1.18.33/resume-unknown-json, qwen/0.24.4/resume-other-cwd, copilot/1.0.102/resume-unknown-json.
UNKNOWN = {
    "codex": ("Error: thread/resume: thread/resume failed: no rollout found for thread id {} (code -32600)", 1),
    "claude": ("No conversation found with session ID: {}", 1),
    "gemini": ('Error resuming session: Invalid session identifier "{}".', 42),
    "opencode": ("\x1b[91m\x1b[1mError: \x1b[0mSession not found", 1),
    "qwen": (
        "No saved session found with ID {}. Run `qwen --resume` without an ID to choose from existing sessions.",
        1,
    ),
    "copilot": ("Error: No session, task, or name matched '{}'.", 1),
}

GOODBYE = {
    "codex": "To continue this session, run:\n  \x1b[36mcodex resume {}\x1b[39m",
    "claude": "\x1b[2mResume this session with:\x1b[22m\n\x1b[2mclaude --resume {}\x1b[22m\n\x1b[2m\x1b[22m",
    "gemini": "│  To resume this session: gemini --resume {}   │\n╰" + "─" * 80 + "╯",
    "opencode": "  \x1b[90mContinue  \x1b[0m\x1b[1mopencode -s {}\x1b[0m",
    "qwen": "To continue this session, run\nqwen --resume {}",
    "copilot": "  ╰─╯╰─╯   Duration   5s\n  █ ▘▝ █   Tokens     ↑ 10 • ↓ 5\n   ▔▔▔▔    Resume     copilot --resume={}",
}


def main() -> int:
    engine, argv = os.path.basename(sys.argv[0]), sys.argv[1:]
    if engine == "opencode" and argv[:1] == ["import"]:
        stores.opencode_import(argv[1])
        return 0
    message = log(engine, argv)
    if words := os.environ.get("FAKE_WORDS"):
        print(words)
        return int(os.environ.get("FAKE_EXIT", "0"))
    wanted, unknown = asked(engine, argv), os.environ.get("FAKE_UNKNOWN") if resumes(argv) else None
    if unknown == "fail":
        text, status = UNKNOWN[engine]
        print(text.format(wanted), file=sys.stderr)
        return status
    session = session_of(engine, wanted, unknown)
    if session == "none":
        print("warming up", file=sys.stderr)
        return int(os.environ.get("FAKE_EXIT", "0"))
    stores.save(engine, session, message)
    if path := os.environ.get("FAKE_OUT"):
        with open(path, "rb") as file:
            sys.stdout.buffer.write(file.read())
        return int(os.environ.get("FAKE_EXIT", "0"))
    if os.isatty(0):
        return terminal(engine, session)
    first, *rest = transcript(engine, argv, session, said(message or ""))
    print(*first, sep="\n", flush=True)
    shell("FAKE_CMD")
    for lines in rest:
        print(*lines, sep="\n", flush=True)
    shell("FAKE_END")
    return int(os.environ.get("FAKE_EXIT", "0"))


def log(engine: str, argv: list[str]) -> str | None:
    """The line of $FAKE_LOG; what came on stdin."""
    kind, text = stdin()
    wanted = {"PWD", *os.environ.get("FAKE_ENV", "").split()}
    env = {name: value for name, value in os.environ.items() if name.startswith("GIT_") or name in wanted}
    line = {"engine": engine, "argv": argv, "cwd": os.getcwd(), "stdin": text, "stdin_kind": kind, "env": env}
    if path := os.environ.get("FAKE_LOG"):
        with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(json.dumps(line, sort_keys=True) + "\n")
    return text


def shell(name: str) -> None:
    if command := os.environ.get(name):
        import subprocess

        subprocess.run(["sh", "-c", command], check=False, stdout=sys.stderr)


def session_of(engine: str, wanted: str | None, unknown: str | None) -> str:
    own = os.environ.get("FAKE_ID")
    if unknown == "new" or (own == "new" and wanted is None):
        return fresh(engine)
    return own if own and own != "new" else wanted or IDS[engine]


def fresh(engine: str) -> str:
    """A session id that nobody has, of the engine's own shape."""
    import uuid

    made = str(uuid.uuid4())
    return {"opencode": f"ses_{made.replace('-', '')[:26]}", "iflow": f"session-{made}"}.get(engine, made)


def resumes(argv: list[str]) -> bool:
    return any(re.match(r"(resume|--resume|-r|--session|-s)(=|$)", word) for word in argv)


def stdin() -> tuple[str, str | None]:
    """What stdin is, and all of it. An open pipe on which nobody writes is what makes real engines hang."""
    if os.isatty(0):
        return "tty", None
    import select

    mode = os.fstat(0).st_mode
    if stat.S_ISFIFO(mode) and not select.select([0], [], [], 30.0)[0]:
        return "open_pipe", None
    kind = "null" if stat.S_ISCHR(mode) else "pipe" if stat.S_ISFIFO(mode) else "file"
    return kind, sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def asked(engine: str, argv: list[str]) -> str | None:
    """The session that the arguments name, as `--resume=ID`, `--resume ID` or (codex) `resume [flags] ID`."""
    for place, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if re.fullmatch(SELECTORS[engine], name):
            values = [value] if equals else [word for word in argv[place + 1 :] if SESSION.fullmatch(word)]
            return values[0] if values else None
    return None


def said(message: str) -> str:
    if word := os.environ.get("FAKE_REVIEW"):
        return f"block: {word}" if word in message else "pass: fine"
    return os.environ.get("FAKE_SAY", "ok")


def transcript(engine: str, argv: list[str], session: str, words: str) -> list[list[str]]:
    """Groups of lines; the first is what is printed as soon as the session exists."""
    if engine == "codex" and "--json" not in argv:
        print("OpenAI Codex v0.171.0", "--------", f"session id: {session}", "--------", sep="\n", file=sys.stderr)
        return [[], ["ok"]]
    events = EVENTS[engine](session)
    if engine == "iflow":
        return [["ok"], ["", "<Execution Info>", json.dumps(events[0], indent=2), "</Execution Info>"]]
    return [[dumps(event).replace('"ok"', json.dumps(words))] for event in events]


def terminal(engine: str, session: str) -> int:
    """The terminal form, up to a line that is typed; what it says at the end, as interactive-start was recorded."""
    with suppress(KeyboardInterrupt):  # SIGINT makes real ones leave with 0, too
        print("\x1b[?2004h\x1b[?1049h\x1b[?25lready", end="\r\n", flush=True)
        shell("FAKE_CMD")
        sys.stdin.readline()
        stores.answer(engine, session)
    shell("FAKE_END")
    print("\x1b[?1049l\x1b[?25h\x1b[?2004l", end="\r\n")
    print(*GOODBYE[engine].format(session).split("\n"), sep="\r\n", end="\r\n", flush=True)
    return int(os.environ.get("FAKE_EXIT", "0"))


def dumps(event: dict[str, object]) -> str:
    return json.dumps(event, separators=(",", ":"))


def codex(session: str) -> list[dict[str, object]]:
    """As codex/0.171.0/01-start-json."""
    return [
        {"type": "thread.started", "thread_id": session},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "ok"}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 0, "output_tokens": 5}},
    ]


def claude(session: str) -> list[dict[str, object]]:
    """As claude/2.1.332/start-stream-json."""
    content = [{"type": "text", "text": "ok"}]
    usage = {"input_tokens": 10, "output_tokens": 5}
    return [
        {
            "type": "system",
            "subtype": "init",
            "cwd": os.getcwd(),
            "session_id": session,
            "model": "claude-opus-5-5",
            "permissionMode": "default",
        },
        {
            "type": "assistant",
            "message": {"type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": content},
            "parent_tool_use_id": None,
            "session_id": session,
        },
        {
            "session_id": session,
            "total_cost_usd": 0.00028,
            "usage": usage,
            "is_error": False,
            "num_turns": 1,
            "subtype": "success",
            "result": "ok",
            "type": "result",
        },
    ]


def gemini(session: str) -> list[dict[str, object]]:
    """As gemini/0.61.0/start-streamjson."""
    stats = {"total_tokens": 36, "input_tokens": 22, "output_tokens": 14, "duration_ms": 293, "tool_calls": 0}
    return [
        {"type": "init", "session_id": session, "model": "auto"},
        {"type": "message", "role": "user", "content": "go on"},
        {"type": "message", "role": "assistant", "content": "ok", "delta": True},
        {"type": "result", "status": "success", "stats": stats},
    ]


def opencode(session: str) -> list[dict[str, object]]:
    """As opencode/1.18.33/start-json."""
    tokens = {"total": 18, "input": 11, "output": 7, "reasoning": 0, "cache": {"write": 0, "read": 0}}
    parts: list[tuple[str, dict[str, object]]] = [
        ("step_start", {"type": "step-start"}),
        ("text", {"type": "text", "text": "ok", "time": {"start": 1, "end": 2}}),
        ("step_finish", {"type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0}),
    ]
    return [
        {
            "type": kind,
            "timestamp": 1795819100112,
            "sessionID": session,
            "part": {"id": f"prt_{kind}", "sessionID": session, **part},
        }
        for kind, part in parts
    ]


def iflow(session: str) -> list[dict[str, object]]:
    """As the block that iflow's documentation shows."""
    return [{"session-id": session, "conversation-id": "c0ffee00-eeee-4aaa-9bbb-0123456789ab"}]


def qwen(session: str) -> list[dict[str, object]]:
    """As qwen/0.24.4/start-stream-json."""
    named: dict[str, object] = {"uuid": session, "session_id": session}
    content = [{"type": "text", "text": "ok"}]
    usage = {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 0, "total_tokens": 18}
    message = {"type": "message", "role": "assistant", "model": "mock-1", "content": content, "usage": usage}
    return [
        {"type": "system", "subtype": "init", **named, "cwd": os.getcwd(), "model": "mock-1"},
        {"type": "assistant", **named, "parent_tool_use_id": None, "message": message},
        {"type": "result", "subtype": "success", **named, "is_error": False, "result": "ok", "usage": usage},
    ]


def copilot(session: str) -> list[dict[str, object]]:
    """As copilot/1.0.102/start-json: the session is in the last line only."""
    return [
        {"type": "assistant.turn_start", "data": {"turnId": "0"}},
        {"type": "assistant.message", "data": {"model": "mock-1", "content": "ok", "toolRequests": [], "turnId": "0"}},
        {"type": "result", "sessionId": session, "exitCode": 0, "usage": {"premiumRequests": 0}},
    ]


EVENTS = {
    "codex": codex,
    "claude": claude,
    "gemini": gemini,
    "opencode": opencode,
    "iflow": iflow,
    "qwen": qwen,
    "copilot": copilot,
}
