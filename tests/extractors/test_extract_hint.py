"""What a terminal form leaves at its end, and the same words where they are not its own.

In the recordings `interactive-*decoys` the model's reply holds the engine's own hint and an event with another id, as
a paragraph and as a block of code, in a terminal of 80 columns.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_agent_extractors.find import find_session, search
from git_agent_extractors.hint import REACH
from git_agent_extractors.live import Decoder
from git_agent_extractors.model import Source
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.read import read
from git_agent_fixtures.recording import folder
from recordings.recorded import ROOT

GOOD = "0199a213-81c0-7800-8aa1-7ffac1586f13"
OTHER = "11111111-1111-4111-8111-111111111111"
SES = "ses_154ab1ebdfferuLfjWKE1REEOy"
SCREEN = "\x1b[?2004h\x1b[?1049h\x1b[1;1H\x1b[Jdrawn\x1b[?1049l\x1b[?2004l\r\n"
CODEX = f"To continue this session, run:\r\n  \x1b[36mcodex resume {GOOD}\x1b[39m\r\n"
CLAUDE = f"\x1b[2mResume this session with:\x1b[22m\r\n\x1b[2mclaude --resume {GOOD}\x1b[22m\r\n"
GEMINI = f"│  To resume this session: gemini --resume {GOOD}   │\r\n╰────────╯\r\n"
OPENCODE = f"  Session   A title\r\n  Continue  opencode -s {SES}\r\n"
MINI = f"█▀▀█  Session  A title\r\r\n█  █  Continue opencode --mini -s {SES}\r\r\n▀▀▀▀\r\n"
QWEN = f"To continue this session, run qwen --resume {GOOD}\r\n"
COPILOT = (
    "  ╭─╮╭─╮   Changes    +0 -0\r\n  ╰─╯╰─╯   Duration   1m 47s\r\n  █ ▘▝ █   Tokens     ↑ 10 • ↓ 5\r\n"
    f"   ▔▔▔▔    Resume     copilot --resume={GOOD}\r\n"
)
NO_REPLY = (
    "  ╭─╮╭─╮   Changes    +0 -0\r\n  ╰─╯╰─╯   Duration   18s\r\n"
    f"  █ ▘▝ █   Resume     copilot --resume={GOOD}\r\n   ▔▔▔▔\r\n"
)
DECOYS = sorted(ROOT.glob("*/*/interactive-*decoys"))
DECOY = re.compile(rb"00000000-0001-[0-9a-f]{4}-8def-000000000001|ses_0{25}1")  # the stand-in of what the reply names


def session(tmp_path: Path, engine: str, printed: bytes, source: Source = "pty-output") -> str | None:
    """The id that is read, found, and found in windows smaller than the file."""
    path = tmp_path / source
    path.write_bytes(printed)
    transcript = read(engine, {source: path}, exit_status=0)
    expected = (transcript.session, transcript.source)
    assert find_session(engine, {source: path}) == expected
    assert search(profile_of(engine), {source: path}, 64) == expected
    return transcript.session.value


@pytest.mark.parametrize("place", [pytest.param(place, id="-".join(place.parts[-3:])) for place in DECOYS])
def test_words_in_a_reply_are_no_hint(tmp_path: Path, place: Path) -> None:
    recording = folder.read(place)
    engine, right, printed = recording.facts.engine, recording.truth.session, recording.files["pty-output"]
    killed = printed[: printed.rfind(b"END-OF-REPLY")]
    assert DECOY.search(killed)
    assert session(tmp_path, engine, printed) == right
    assert session(tmp_path, engine, killed) is None


@pytest.mark.parametrize(
    ("engine", "hint", "right"),
    [
        pytest.param("codex", CODEX, GOOD, id="codex"),
        pytest.param(
            "codex", CODEX.replace("continue this session", "reconnect"), GOOD, id="codex: its server goes on"
        ),
        pytest.param("codex", f"To continue this session, run codex resume {GOOD}\r\n", GOOD, id="codex: one line"),
        pytest.param("codex", f"\x1b[1;1H\x1b[J\x1b[?25h{CODEX}", GOOD, id="codex: no numbers before it"),
        pytest.param("codex", CODEX.replace(GOOD, OTHER) + CODEX, GOOD, id="codex: the last one"),
        pytest.param("codex", f"{CODEX}Or run codex resume and select {OTHER}.\r\n", GOOD, id="codex: an id as title"),
        pytest.param("codex", CODEX.replace("  \x1b", "\x1b"), None, id="codex: another column"),
        pytest.param("codex", f"  {CODEX}", None, id="codex: indented"),
        pytest.param("codex", CODEX.replace(GOOD, GOOD[:-1]), None, id="codex: short id"),
        pytest.param("codex", CODEX.replace(GOOD, GOOD + "0"), None, id="codex: long id"),
        pytest.param("codex", CODEX.replace(GOOD, "my-thread"), None, id="codex: a name"),
        pytest.param("codex", CODEX[:-12], None, id="codex: torn"),
        pytest.param("codex", CODEX.replace(":\r\n", ":\r\n\r\n"), None, id="codex: lines apart"),
        pytest.param("codex", CODEX.replace("\r\n", "\n"), None, id="codex: not a terminal's lines"),
        pytest.param("codex", CODEX.replace("81c0", "81\x1b[3Cc0"), None, id="codex: id cut by a movement"),
        pytest.param("codex", CODEX.replace("81c0", "81\x00c0"), None, id="codex: id cut by a control"),
        pytest.param("claude", CLAUDE, GOOD, id="claude"),
        pytest.param("claude", CLAUDE.replace(GOOD, f"{GOOD}e REPL"), GOOD, id="claude: old text glued to it"),
        pytest.param("claude", CLAUDE.replace(GOOD, GOOD[:-1]), None, id="claude: short id"),
        pytest.param("claude", CLAUDE.partition("\r\n")[2], None, id="claude: one line of it"),
        pytest.param("gemini", GEMINI, GOOD, id="gemini"),
        pytest.param("gemini", GEMINI.replace(GOOD, f"'{GOOD}'"), GOOD, id="gemini: in quotes"),
        pytest.param("gemini", GEMINI.replace(f" {GOOD}", f"   │\r\n│  {GOOD}"), GOOD, id="gemini: wrapped"),
        pytest.param("gemini", GEMINI.replace("81c0", "81\x1b[38;5;140mc0"), GOOD, id="gemini: coloured within"),
        pytest.param("gemini", GEMINI.replace(GOOD, f"'{GOOD}"), None, id="gemini: one quote"),
        pytest.param("gemini", GEMINI.replace(GOOD, GOOD + "0"), None, id="gemini: long id"),
        pytest.param("gemini", GEMINI.partition("╰")[0], None, id="gemini: not the last line of its box"),
        pytest.param("gemini", GEMINI.replace("│  To", "│ To"), None, id="gemini: another box"),
        pytest.param("opencode", OPENCODE, SES, id="opencode"),
        pytest.param("opencode", MINI, SES, id="opencode: mini"),
        pytest.param("opencode", OPENCODE.replace(SES, SES + "y"), None, id="opencode: long id"),
        pytest.param("opencode", OPENCODE.partition("\r\n")[2], None, id="opencode: one line of it"),
        pytest.param("opencode", MINI.partition("▀▀▀▀")[0], None, id="opencode: mini without its last line"),
        pytest.param("copilot", COPILOT, GOOD, id="copilot"),
        pytest.param("copilot", NO_REPLY, GOOD, id="copilot: no reply came"),
        pytest.param("copilot", COPILOT.replace(GOOD, GOOD + "0"), None, id="copilot: long id"),
        pytest.param("copilot", COPILOT.partition("   ▔")[2], None, id="copilot: one line of it"),
        pytest.param("copilot", COPILOT.replace("  █ ", " ● █ "), None, id="copilot: in a reply"),
        pytest.param("qwen", f"{QWEN}\r\n", GOOD, id="qwen 0.5.2"),
        pytest.param("qwen", f"  ╰────╯\r\n\r\n  {QWEN}\r\n", GOOD, id="qwen 0.10.1: below its box"),
        pytest.param("qwen", QWEN.replace("run ", "run\r\n"), GOOD, id="qwen 0.24.4: two lines"),
        pytest.param("qwen", f"✦ a\r\n\r\n  {QWEN}", None, id="qwen: in a reply"),
        pytest.param("qwen", QWEN.replace(GOOD, GOOD + "0"), None, id="qwen: long id"),
    ],
)
def test_hint(tmp_path: Path, engine: str, hint: str, right: str | None) -> None:
    assert session(tmp_path, engine, f"{SCREEN}{hint}\x1b[?25h".encode()) == right


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        pytest.param("codex", f'{{"type":"thread.started","thread_id":"{OTHER}"}}', id="codex"),
        pytest.param("claude", f'{{"type":"result","session_id":"{OTHER}"}}', id="claude"),
        pytest.param("gemini", f'{{"type":"init","session_id":"{OTHER}"}}', id="gemini"),
        pytest.param("opencode", f'{{"type":"text","sessionID":"{SES}"}}', id="opencode"),
        pytest.param("codex", f"OpenAI Codex v1\r\n--------\r\nsession id: {OTHER}\r\n--------", id="codex's banner"),
        pytest.param("iflow", f'<Execution Info> {{"session-id":"session-{OTHER}"}}', id="iflow's block"),
        pytest.param("copilot", f'{{"type":"result","sessionId":"{OTHER}","exitCode":0}}', id="copilot"),
    ],
)
def test_nothing_else_on_a_screen_has_an_id(tmp_path: Path, engine: str, line: str) -> None:
    assert session(tmp_path, engine, f"{SCREEN}{line}\r\n".encode()) is None
    assert session(tmp_path, engine, f"{line}\r\n".encode()) is not None


def test_bracket_that_opens_no_document_hides_nothing(tmp_path: Path) -> None:
    assert session(tmp_path, "claude", f"{SCREEN}\x1b[3G{{\r\n{CLAUDE}".encode()) == GOOD


def test_text_answer_on_a_terminal_has_no_hint(tmp_path: Path) -> None:
    assert session(tmp_path, "claude", CLAUDE.encode()) is None


@pytest.mark.parametrize(("more", "right"), [pytest.param(0, GOOD, id="near"), pytest.param(1, None, id="far")])
def test_hint_stands_at_the_end(tmp_path: Path, more: int, right: str | None) -> None:
    after = b"x" * (REACH + more)
    assert session(tmp_path, "claude", (SCREEN + CLAUDE).encode() + after[:-1] + b"\n") == right


def test_hint_after_a_long_drawing(tmp_path: Path) -> None:
    frame = b"\x1b[?2026h\x1b[12;3Hworking\x1b[40;1H\x1b[?2026l"
    drawing = frame * (3 * (1 << 20) // len(frame))
    printed = SCREEN.encode() + CODEX.replace(GOOD, OTHER).encode() + drawing
    assert session(tmp_path, "codex", printed) is None
    assert session(tmp_path, "codex", printed + b"Token usage: total=1\r\n" + CODEX.encode()) == GOOD


def test_session_comes_when_the_form_is_left() -> None:
    decoder = Decoder("codex")
    assert [e.kind for e in decoder.feed("pty-output", (SCREEN + CODEX).encode())] == []
    (event,) = decoder.close()
    assert (event.kind, event.data) == ("session", {"value": GOOD})


@pytest.mark.parametrize(
    ("printed", "exit_status", "status"),
    [
        pytest.param(SCREEN + CLAUDE, 0, "completed", id="left"),
        pytest.param(SCREEN, 0, "completed", id="left without a hint"),
        pytest.param(SCREEN + CLAUDE, 129, "interrupted", id="its window was closed"),
        pytest.param(SCREEN, -9, "interrupted", id="killed"),
        pytest.param(SCREEN + "Error: no\r\n", 1, "failed", id="failed"),
        pytest.param("", 0, "no_output", id="nothing"),
    ],
)
def test_verdict_of_a_terminal_attempt(tmp_path: Path, printed: str, exit_status: int, status: str) -> None:
    path = tmp_path / "pty-output"
    path.write_text(printed)
    assert read("claude", {"pty-output": path}, exit_status=exit_status).status == status


def test_a_directory_that_the_person_does_not_trust(tmp_path: Path) -> None:
    """What claude 2.1.332 printed in a terminal when its question was answered with No; it exited with 1."""
    file = tmp_path / "pty-output"
    file.write_bytes(
        b"\x1b[?2004h\r\n Accessing workspace:\r\n\r\n"
        b"Claude Code didn't start because this folder isn't trusted.\r\n"
        b"Run claude again and choose Yes, or run it in another folder.\r\n"
    )
    assert read("claude", {"pty-output": file}, exit_status=1).status == "untrusted"
