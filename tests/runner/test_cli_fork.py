"""`git agent fork`: a second conversation from the first, which stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from git_agent_extractors.model import Session
from git_agent_runner.conversation import formats, place
from git_agent_runner.conversation.messages import Message
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery
from git_agent_runner.store.records import attempts
from support.cli import Cli

SAME = tuple(engine for engine in formats.KNOWN if engine != "qwen")  # whose stand-in keeps no words


def stored(cli: Cli, engine: str, session: Session) -> tuple[Message, ...]:
    """What that engine's store has of the session."""
    query = StoreQuery(cli.environ(HOME=str(cli.home)), str(cli.repo.path), (99,), session.value)
    found = place.stored(load(engine), query)
    assert found
    return formats.form(load(engine)).read(found.pieces)


def said(cli: Cli, engine: str, session: Session) -> list[str]:
    return [message.text for message in stored(cli, engine, session) if message.user]


def files(home: Path) -> dict[Path, bytes]:
    """What the engines keep, but for what is ours, and what all sessions share."""
    shared = ("fake.log", "opencode.db", "projects.json")
    found = (path for path in home.rglob("*") if path.is_file() and "git-agent" not in path.parts)
    return {path: path.read_bytes() for path in found if path.name not in shared}


@pytest.mark.parametrize("engine", SAME)
def test_a_fork_goes_on_by_itself(cli: Cli, engine: str) -> None:
    begun = cli.begin(engine)
    before, first = files(cli.home), stored(cli, engine, begun.session)
    cli.repo.git("switch", "-q", "-c", "try-b")
    done = cli.ok("fork", begun.branch or "", "two in the fork")
    (handle,) = {*cli.pointers().values()} - {begun.handle}
    made = cli.record(handle)
    assert (made.branch, made.forked_from, made.parent_session) == ("try-b", begun.handle, begun.session.value)
    assert (made.launch_args, made.cwd, made.attempts, made.status) == (begun.launch_args, begun.cwd, 2, "completed")
    assert (cli.attempt(1, handle).kind, cli.attempt(2, handle).resumed) == ("fork", "yes")
    assert attempts.rebuild(cli.layout, made.run_id).forked_from == begun.handle
    assert f"{engine} session {begun.session.value} of run {begun.handle} was forked as {engine} session" in done.err
    assert any(str(made.session.value) in word for word in cli.calls()[-1]["argv"])
    assert said(cli, engine, made.session) == ["begin", "two in the fork"]
    assert {path: files(cli.home)[path] for path in before} == before
    assert stored(cli, engine, begun.session) == first
    assert cli.record(begun.handle) == begun
    cli.repo.git("switch", "-q", begun.branch or "")
    cli.ok("resume", "two in the first")
    assert said(cli, engine, begun.session) == ["begin", "two in the first"]
    assert said(cli, engine, made.session) == ["begin", "two in the fork"]


def test_without_a_message_nothing_is_run(cli: Cli) -> None:
    begun = cli.begin("claude")
    found = cli.ok("fork", "--json", begun.handle).json
    made = cli.record(found["handle"])
    assert (found["forkedFrom"], found["turns"], found["session"]) == (begun.handle, 1, made.session._asdict())
    assert (made.session != begun.session, len(cli.calls()), cli.pointers()) == (True, 1, {"main": made.handle})
    cli.ok("resume", "two")
    assert said(cli, "claude", made.session) == ["begin", "two"]
    assert cli.ok("show", "--json").json["forkedFrom"] == begun.handle


def test_a_fork_of_this_branchs_run_says_which_it_was(cli: Cli) -> None:
    begun = cli.begin("claude")
    done = cli.ok("fork", "another way")
    assert f"branch 'main' used run {begun.handle} until now" in done.err
    assert cli.calls()[-1]["stdin"] == "another way"


def test_a_fork_into_another_engine_is_a_hand_over(cli: Cli) -> None:
    begun = cli.begin("claude", "--", "--allowedTools=Bash")
    cli.ok("fork", "-e", "codex", "in the other")
    (handle,) = cli.pointers().values()
    made = cli.record(handle)
    assert (made.agent_name, made.launch_args, made.forked_from) == ("codex", (), begun.handle)
    assert said(cli, "codex", made.session) == ["begin", "in the other"]
    assert (cli.record(begun.handle), said(cli, "claude", begun.session)) == (begun, ["begin"])


@pytest.mark.parametrize("other", [None, "codex"])
def test_a_fork_as_it_was_at_a_commit(cli: Cli, other: str | None) -> None:
    """The attempt that made it counts, though the commit is younger than the next prompt."""
    begun = cli.begin("claude")
    cli.ok(
        "resume", "two", FAKE_CMD="git commit -q --allow-empty -m by-the-agent", GIT_COMMITTER_DATE="2040-01-01T00:00Z"
    )
    cli.ok("resume", "three")
    engine = ("-e", other) if other else ()
    found = cli.ok("fork", begun.handle, *engine, "--commit", "HEAD", "--json").json
    assert (found["turns"], said(cli, other or "claude", Session(None, found["session"]["value"]))) == (
        2,
        ["begin", "two"],
    )
    assert said(cli, "claude", begun.session) == ["begin", "two", "three"]


def test_a_commit_made_by_hand_counts_by_its_time(cli: Cli) -> None:
    begun = cli.begin("claude")
    cli.repo.commit("by hand", int(time.time()))
    cli.ok("resume", "two")
    (path,) = (cli.home / ".claude").rglob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    late = "2041-01-01T00:00:00.000Z"
    moved = [{**line, "timestamp": late} if line["message"]["content"] == "two" else line for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in moved))
    cli.forget_copies()
    found = cli.ok("fork", begun.handle, "--commit", "HEAD", "--json").json
    assert found["turns"] == 1


def test_a_commit_from_before_the_conversation_is_refused(cli: Cli) -> None:
    cli.begin("claude")
    (path,) = (cli.home / ".claude").rglob("*.jsonl")
    line = json.loads(path.read_text())
    path.write_text(json.dumps({**line, "timestamp": "2041-01-01T00:00:00.000Z"}) + "\n")
    cli.forget_copies()
    done = cli.run("fork", "--commit", "HEAD", "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "conversation_empty")
    assert len(cli.pointers()) == 1


def test_a_dry_run_writes_nothing(cli: Cli) -> None:
    begun = cli.begin("claude")
    state, before = cli.state(), files(cli.home)
    done = cli.ok("fork", "-n", "--json", begun.handle, "two")
    assert (done.json["handle"], done.json["argv"][-1] != "", done.json["stdin"]) == (None, True, "two")
    assert "would be forked as claude session" in done.err
    assert (cli.state(), files(cli.home), len(cli.calls())) == (state, before, 1)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(("feature/rety",), "git agent fork --message=feature/rety", id="a name that is none"),
        pytest.param(("a", "b", "c"), "too many arguments", id="three words"),
        pytest.param(("-n",), "-n needs a message", id="a dry run of nothing"),
        pytest.param(("--commit", "nope", "main"), "'nope' is not a commit", id="no commit"),
        pytest.param(("-e", "iflow", "main", "go"), "iflow's conversations cannot be handed over", id="no form"),
    ],
)
def test_what_cannot_be_is_refused_and_costs_nothing(cli: Cli, words: tuple[str, ...], text: str) -> None:
    cli.begin("claude")
    done = cli.run("fork", *words)
    assert (done.status in (128, 129), text in done.err, len(cli.calls())) == (True, True, 1), done
    assert len(list((cli.home / ".claude").rglob("*.jsonl"))) == 1


def test_an_engine_whose_sessions_are_not_known_is_named(cli: Cli) -> None:
    cli.begin("iflow")
    done = cli.run("fork", "go on")
    assert (done.status, len(cli.calls())) == (128, 1)
    assert "fatal: iflow's conversations cannot be handed over or forked" in done.err


REFUSED = [
    pytest.param((), ("--", "stray"), "'stray' after -- is not a flag of claude", id="a word for the engine"),
    pytest.param(
        ("-e", "opencode"),
        ("--", "--model", "a/b", "--attach", "http://127.0.0.1:1"),
        "with --attach opencode's sessions are in another store",
        id="another store",
    ),
]


@pytest.mark.parametrize(("engine", "flags", "text"), REFUSED)
def test_what_is_in_the_way_is_found_before_a_copy_is_made(
    cli: Cli, engine: tuple[str, ...], flags: tuple[str, ...], text: str
) -> None:
    begun = cli.begin("claude")
    state, before = cli.state(), files(cli.home)
    done = cli.run("fork", *engine, begun.handle, "go on", *flags)
    assert (done.status in (128, 129), text in done.lines[0]) == (True, True), done
    assert (cli.state(), files(cli.home), cli.pointers()) == (state, before, {"main": begun.handle})


def test_in_a_hook_of_a_run_no_copy_is_made(cli: Cli) -> None:
    begun = cli.begin("claude")
    state, before = cli.state(), files(cli.home)
    done = cli.run("fork", "go on", GIT_AGENT_HANDLE=begun.handle, GIT_PREFIX="")
    assert (done.status, done.lines[0]) == (
        128,
        f"fatal: this is a hook inside run {begun.handle}: an agent's own commits start no other agent",
    )
    assert (cli.state(), files(cli.home), cli.pointers()) == (state, before, {"main": begun.handle})


def test_the_hint_that_names_a_model_works(cli: Cli) -> None:
    begun = cli.begin("claude")
    state = cli.state()
    hint = cli.run("fork", "-e", "opencode", begun.handle).lines[1]
    assert (hint, cli.state()) == ("hint: give one, at the end: -- --model PROVIDER/MODEL", state)
    flags = hint.rpartition(": ")[2].replace("PROVIDER/MODEL", "one/model").split()
    cli.ok("fork", "-e", "opencode", begun.handle, *flags)
    assert cli.record(cli.pointers()["main"]).launch_args == ("--model", "one/model")
    cli.ok("resume", "two")
    call = cli.calls()[-1]
    assert (call["stdin"], [word for word in call["argv"] if "model" in word]) == ("two", ["--model", "one/model"])


def test_flags_are_added_to_those_of_the_first(cli: Cli) -> None:
    begun = cli.begin("claude", "--", "--allowedTools=Bash")
    cli.ok("fork", "go on", "--", "--allowedTools=Edit")
    (handle,) = cli.pointers().values()
    assert cli.record(handle).launch_args == ("--allowedTools=Bash", "--allowedTools=Edit")
    assert [word for word in cli.calls()[-1]["argv"] if "Tools" in word] == [*cli.record(handle).launch_args]
    assert cli.record(begun.handle) == begun
    done = cli.run("fork", begun.handle, "--", "--file=x")
    assert (done.status, done.lines[0]) == (129, "fatal: --file needs a message")


def test_a_run_that_only_a_note_knows_is_named_as_such(cli: Cli) -> None:
    begun = cli.begin("claude")
    shutil.rmtree(cli.layout.run(begun.run_id))
    os.unlink(cli.layout.index_file(begun.handle))
    done = cli.run("fork", begun.handle, "go on", "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "record_elsewhere")
    assert any(hint.endswith(f"git agent adopt {begun.handle}") for hint in done.json["error"]["hints"])


@pytest.mark.parametrize("words", [("fork",), ("resume", "-e", "codex")], ids=" ".join)
def test_a_copy_of_the_repository_takes_no_later_turns_of_the_original(
    cli: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    begun = cli.begin("claude")
    shutil.copytree(cli.repo.path, tmp_path / "copy", symlinks=True)
    cli.ok("resume", "later, in the original")
    there = cli._replace(repo=cli.repo._replace(path=tmp_path / "copy"))
    there.ok(*words, "in the copy")
    made = there.record(there.pointers()["main"])
    assert said(there, made.agent_name, made.session) == ["begin", "in the copy"]
    assert said(cli, "claude", begun.session) == ["begin", "later, in the original"]


def test_a_commit_from_before_a_hand_over_has_the_turns_of_then(cli: Cli) -> None:
    """What the session was made of is shortened there; a digest of it would tell of later turns."""
    begun = cli.begin("claude")
    (path,) = (cli.home / ".claude").rglob("*.jsonl")
    with path.open("a") as file:
        for number in range(2, 101):
            line = {"timestamp": f"2041-01-01T00:{number // 60:02}:{number % 60:02}.000Z", "sessionId": path.stem}
            for kind in ("user", "assistant"):
                content = [{"type": "text", "text": f"{kind} {number} {'x' * 40}"}]
                file.write(json.dumps({**line, "type": kind, "message": {"content": content}}) + "\n")
    cli.repo.commit("by hand", 2240611200 + 49)  # 2041-01-01T00:00:49Z
    cli.repo.git("config", "agent.codex.handoverTokens", "1000")
    cli.ok("resume", "-e", "codex", "the newest")
    cli.repo.git("config", "--unset", "agent.codex.handoverTokens")
    found = cli.ok("fork", "--commit", "HEAD", "--json").json
    texts = said(cli, "codex", Session(None, found["session"]["value"]))
    assert (found["engine"], found["turns"], len(texts), texts[0]) == ("codex", 50, 50, "begin")
    assert texts[-1].startswith("user 50 ")
    assert cli.record(begun.handle).agent_name == "codex"
