"""An engine that is not shipped, driven for real by the profile in the documents: nothing but that file knows pi."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from git_agent_fixtures.engines import Pin
from support import docs
from system.console import replayed, same_words
from system.stores import forget_copies
from system.support import World, refused, succeeded
from system.terminal import terminal

PIN = Pin("pi", "0.73.1", "@mariozechner/pi-coding-agent")  # 204 MB
PAGE = (docs.ROOT / "docs/add-an-engine.md").read_text()
RECORDED = docs.ROOT / "tests/extractors/declared/pi/0.73.1/resume-tool-call/stdout"

with_pi = pytest.mark.parametrize("pin", [PIN], ids=str, scope="session")


def store(world: World) -> list[Path]:
    return sorted((world.home.root / ".pi/agent/sessions").glob("*/*.jsonl"))


@pytest.fixture
def described(world: World) -> World:
    """A person who has put the profile in its place."""
    place = world.home.root / ".config/git-agent/engines"
    place.mkdir(parents=True)
    shutil.copy(docs.ROOT / "docs/examples/pi.yaml", place)
    return world


@with_pi
def test_a_resume_carries_the_history(described: World) -> None:
    """What the model is told, and pi's own store, say that it is one conversation."""
    world = described
    world.start("MK1 add a retry", "--model", "scripted/scripted-2")
    world.carried("MK1")
    world.resume("MK2 TOOLCALL address the review")
    world.carried("MK1", "MK2")
    world.ran_in(world.repo)
    assert world.requests()[-1].model == "scripted-2"
    (kept,) = store(world)
    assert kept.name.endswith(f"_{world.session()}.jsonl")
    facts = world.facts()
    assert (facts["engineVersion"], facts["status"], facts["resumable"]) == ("0.73.1", "completed", True)
    assert [attempt["resumed"] for attempt in facts["attempts"]] == [None, "yes"]


@with_pi
@pytest.mark.one_of("message")
@pytest.mark.parametrize("message", ["--yolo MK2", "- [ ] MK2 a task", "@MK2", "/MK2 x", "MK2 ü\nsecond 'line'"])
def test_a_message_arrives_as_it_is(described: World, message: str) -> None:
    described.start("MK1")
    described.resume(message)
    assert [text.text for text in described.requests()[-1].users] == ["MK1", message]


@with_pi
@pytest.mark.one_of("trouble")
@pytest.mark.parametrize(
    ("word", "status"), [("AUTHFAIL", "auth_failed"), ("RATELIMIT", "rate_limited"), ("HANGUP", "network")]
)
def test_a_failure_is_told_though_pi_exits_with_0(described: World, word: str, status: str) -> None:
    described.start("MK1")
    done = described.agent("resume", f"MK2 {word}")
    facts = described.facts()
    assert (done.status, facts["status"], facts["attempts"][-1]["exitStatus"]) == (1, status, 0)
    described.resume("MK3")
    described.carried("MK1", "MK2", "MK3")


@with_pi
@pytest.mark.one_of("refused")
def test_a_session_that_is_gone_is_missed_before_pi_is_asked(described: World) -> None:
    described.start("MK1")
    (kept,) = store(described)
    kept.unlink()
    forget_copies(described)
    refused(described.agent("resume", "MK2"), "pi has no such session below")
    assert len(described.requests()) == 1


@with_pi
@pytest.mark.one_of("refused")
def test_another_directory_is_refused(described: World) -> None:
    """There pi would ask whether to fork the session, and take the message for the answer."""
    described.start("MK1")
    (described.repo / "sub").mkdir()
    refused(described.agent("resume", "--cwd=sub", "MK2"), "pi resumes this session only in its own directory")
    assert len(described.requests()) == 1


@with_pi
def test_a_session_begun_in_a_terminal_is_found_in_its_store(described: World) -> None:
    """pi's own interface prints no id, and takes no message from us: the person types it."""
    world = described
    _typed(world, "MK1", "start", "-e", "pi", "-i")
    _typed(world, "MK2", "resume", "-i")
    world.carried("MK1", "MK2")
    (kept,) = store(world)
    assert kept.name.endswith(f"_{world.session()}.jsonl")
    world.resume("MK4")
    world.carried("MK1", "MK2", "MK4")


def _typed(world: World, mark: str, *words: str) -> None:
    """One turn in pi's own interface."""
    with terminal(world, *words) as shown:
        shown.until(lambda: "scripted-1" in shown.text(), "it is ready")
        shown.press(f"{mark} hello\r".encode())
        shown.until(lambda: f"markersMK1{'MK2' * (mark == 'MK2')}" in shown.text(), "it is answered")
        shown.press(b"\x04")  # Ctrl-D; of Ctrl-C it wants two within half a second
        shown.until(lambda: shown.process.poll() is not None, "it ends")


@with_pi
def test_the_page_shows_what_happens(described: World) -> None:
    """Every command of the page's `console` blocks, in the home of a person who has done what stands above them."""
    shutil.copy(RECORDED, described.home.root / "resume.jsonl")
    described.git("config", "--unset", "agent.pi.binary")
    described.home.env["PATH"] = f"{described.binary.parent}:{described.home.env['PATH']}"
    here = {str(described.repo): "/home/ann/shop", str(described.home.root): "/home/ann"}
    told, shown = replayed(described, PAGE, here)
    assert same_words(told) == same_words(shown)
    assert [text.head for text in described.requests()[-1].users] == [
        "add a retry to the client",
        "address the review comments",
    ]
    assert succeeded(described.agent("doctor")).out == "nothing is wrong\n"
