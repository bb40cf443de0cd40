"""`git agent resume -e ENGINE`: a run's conversation becomes another engine's session, and comes back."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.model import Session
from git_agent_runner import context
from git_agent_runner.conversation import formats, hand_over
from git_agent_runner.conversation.messages import Message
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Earlier
from git_agent_runner.engines import load
from git_agent_runner.engines.opencode import store
from git_agent_runner.engines.spec import Piece, StoreQuery
from git_agent_runner.store.records import attempts
from support.cli import Cli

FOLDERS = {"claude": ".claude/projects", "codex": ".codex/sessions"}
PAIRS = [("claude", "codex"), ("codex", "claude")]  # the others: tests/system/test_travel.py


def stored(cli: Cli, engine: str, session: Session) -> tuple[Message, ...]:
    """What that engine's store has of the session."""
    (path,) = (cli.home / FOLDERS[engine]).rglob(f"*{session.value}.jsonl")
    return formats.form(load(engine)).read((Piece(path.name, path.read_bytes()),))


def said(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [("user" if message.user else "model", message.text) for message in messages]


def files(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for name in FOLDERS.values() for path in (home / name).rglob("*.jsonl")}


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_run_goes_on_in_another_engine_and_comes_back(cli: Cli, one: str, other: str) -> None:
    begun = cli.begin(one, FAKE_CMD="")
    before = files(cli.home)
    done = cli.ok("resume", "-e", other, "two")
    now = cli.record()
    assert (now.handle, now.agent_name, now.parent_session) == (begun.handle, other, begun.session.value)
    assert now.earlier == (Earlier(one, begun.session, begun.launch_args),)
    assert (
        f"{one} session {begun.session.value} was handed over to {other} as session {now.session.value} (1 turn; "
        in (done.err)
    )
    call = cli.calls()[-1]
    assert (call["engine"], call["stdin"]) == (other, "two")
    assert any(str(now.session.value) in word for word in call["argv"])
    assert (cli.attempt(2).resumed, cli.attempt(2).requested_session) == ("yes", now.session.value)
    assert said(stored(cli, other, now.session)) == [("user", "begin"), ("user", "two")]
    assert {path: files(cli.home)[path] for path in before} == before
    cli.ok("resume", "three")
    cli.ok("resume", "-e", one, "four")
    back = cli.record()
    assert [(left.agent_name, left.session) for left in back.earlier] == [(one, begun.session), (other, now.session)]
    texts = [text for _, text in said(stored(cli, one, back.session))]
    assert texts == ["begin", "two", "three", "four"]
    assert attempts.rebuild(cli.layout, back.run_id).earlier == back.earlier
    assert len(cli.noted()) == 1


def test_a_dry_run_shows_it_and_writes_nothing(cli: Cli) -> None:
    begun = cli.begin("claude")
    state, before = cli.state(), files(cli.home)
    done = cli.ok("resume", "-e", "codex", "-n", "two")
    assert "would be handed over to codex as session" in done.err
    found = cli.ok("resume", "-e", "codex", "-n", "--json", "two").json
    assert found["session"] in done.out
    assert found["handOver"] == {
        "engine": "claude",
        "session": begun.session.value,
        "turns": 1,
        "digested": 0,
        "toolCalls": 0,
        "attached": [],
        "tokens": found["handOver"]["tokens"],
    }
    assert (cli.state(), files(cli.home), cli.record()) == (state, before, begun)
    cli.ok("resume", "-e", "codex", "two")
    assert cli.record().session.value == found["session"]


def test_flags_are_the_new_engines_own(cli: Cli) -> None:
    cli.repo.git("config", "agent.codex.args", "--model gpt-5")
    cli.repo.git("config", "agent.codex.mode", "edit")
    cli.begin("claude", "--", "--allowedTools=Bash")
    cli.ok("resume", "-e", "codex", "two")
    assert cli.record().launch_args == ("--sandbox", "workspace-write", "--model", "gpt-5")
    assert "--allowedTools=Bash" not in cli.calls()[-1]["argv"]
    cli.ok("resume", "-e", "claude", "three")
    assert cli.record().launch_args == ("--allowedTools=Bash",)
    assert "--allowedTools=Bash" in cli.calls()[-1]["argv"]


def test_the_runs_own_engine_is_no_hand_over(cli: Cli) -> None:
    begun = cli.begin("claude")
    cli.ok("resume", "-e", "claude", "two")
    assert (cli.record().session, cli.record().earlier) == (begun.session, ())


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        pytest.param(
            "claude", "iflow", "iflow's conversations cannot be handed over", id="into an engine without a form"
        ),
        pytest.param("iflow", "claude", "iflow's conversations cannot be handed over", id="out of one"),
    ],
)
def test_what_is_not_proven_is_refused_by_name(cli: Cli, one: str, other: str, words: str) -> None:
    cli.begin(one)
    done = cli.run("resume", "-e", other, "--json", "two")
    assert (done.status, done.json["error"]["code"]) == (128, "handover_unsupported")
    assert words in done.json["error"]["message"]
    assert len(cli.calls()) == 1


def test_a_version_that_was_not_tried_is_refused(cli: Cli) -> None:
    begun = cli.begin("claude")
    done = cli.run("resume", "-e", "codex", "two", FAKE_VERSION="0.44.0")
    assert (done.status, cli.record()) == (128, begun)
    assert "fatal: codex 0.44.0 is not known to take a conversation from another engine" in done.err


@pytest.mark.parametrize("fallback", [(), ("--fallback", "fresh")])
def test_nothing_takes_the_place_of_a_conversation_that_is_gone(cli: Cli, fallback: tuple[str, ...]) -> None:
    begun = cli.begin("claude")
    cli.forget_copies()
    for path in (cli.home / ".claude").rglob("*.jsonl"):
        path.unlink()
    done = cli.run("resume", "-e", "codex", *fallback, "two")
    assert (done.status, cli.record(), len(cli.calls())) == (128, begun, 1)
    assert f"session {begun.session.value} cannot be resumed" in done.err


def test_another_session_is_not_handed_over(cli: Cli) -> None:
    """It would be the other engine's."""
    begun = cli.begin("claude")
    done = cli.run("resume", "-e", "codex", "--session", str(begun.session.value), "two")
    assert (done.status, cli.record(), "-e" in done.err) == (129, begun, True)


def test_a_session_that_its_engine_lost_is_read_from_the_copy(cli: Cli) -> None:
    cli.begin("claude")
    for path in (cli.home / ".claude").rglob("*.jsonl"):
        path.unlink()
    cli.ok("resume", "-e", "codex", "two")
    assert said(stored(cli, "codex", cli.record().session)) == [("user", "begin"), ("user", "two")]


def test_a_session_in_the_way_is_left_alone(cli: Cli) -> None:
    begun = cli.begin("claude")
    session = cli.ok("resume", "-e", "codex", "-n", "--json", "two").json["session"]
    other = cli.home / f".codex/sessions/2020/01/01/rollout-2020-01-01T00-00-00-{session}.jsonl"
    other.parent.mkdir(parents=True)
    line = {"type": "session_meta", "payload": {"id": session, "cwd": "/"}}
    turn = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "another"}}
    other.write_text("".join(json.dumps(one) + "\n" for one in (line, turn)))
    text = other.read_text()
    done = cli.run("resume", "-e", "codex", "two")
    assert (done.status, cli.record(), other.read_text()) == (128, begun, text)
    assert "another conversation is already there" in done.err


def test_a_long_conversation_is_handed_over_as_a_digest_and_its_newest_turns(cli: Cli) -> None:
    """And handed back it is whole: the digest takes the place of nothing."""
    begun = cli.begin("claude")
    (path,) = (cli.home / ".claude").rglob("*.jsonl")
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for number in range(2, 301) for line in turn(begun.session, number))
    cli.repo.git("config", "agent.codex.handoverTokens", "3000")
    done = cli.ok("resume", "-e", "codex", "the newest")
    found = re.search(r"\((\d+) turns; about (\d+) tokens; (\d+) older ones as a digest\)", done.err)
    assert found
    turns, tokens, older = map(int, found.groups())
    assert (turns, 0 < tokens <= 3000, 0 < older < 300) == (300, True, True)
    digest, *newest = said(stored(cli, "codex", cli.record().session))
    assert digest[1].startswith(f"[The conversation began earlier, with claude. Its first {older} turns")
    assert f"{older}. asked: question {older}" in digest[1]
    assert newest[0] == ("user", f"question {older + 1} {'x' * 40}")
    assert newest[-2:] == [("model", "answer 300"), ("user", "the newest")]
    cli.ok("resume", "-e", "claude", "back")
    whole = said(stored(cli, "claude", cli.record().session))
    assert [text for who, text in whole if who == "model"] == [f"answer {number}" for number in range(2, 301)]
    assert [text for who, text in whole if who == "user"][-2:] == ["the newest", "back"]


def turn(session: Session, number: int) -> list[dict[str, Any]]:
    when = f"2027-01-01T{number // 60:02}:{number % 60:02}:00.000Z"
    text = f"question {number} {'x' * 40}"
    answer = [{"type": "text", "text": f"answer {number}"}]
    return [
        {"type": kind, "sessionId": session.value, "timestamp": when, "message": {"role": kind, "content": content}}
        for kind, content in (("user", text), ("assistant", answer))
    ]


def test_a_last_turn_that_does_not_fit_is_refused(cli: Cli) -> None:
    begun = cli.begin("claude")
    cli.repo.git("config", "agent.codex.handoverTokens", "100")
    cli.ok("resume", "x" * 1000)
    done = cli.run("resume", "-e", "codex", "--json", "two")
    assert (done.status, done.json["error"]["code"]) == (128, "handover_too_large")
    assert cli.record().session == begun.session
    (hint,) = done.json["error"]["hints"]
    cli.repo.git(*hint.removeprefix("to allow more: git ").split())
    cli.ok("resume", "-e", "codex", "two")


def test_a_session_of_opencodes_must_name_a_model(cli: Cli) -> None:
    begun = cli.begin("claude")
    done = cli.run("resume", "-e", "opencode", "--json", "two")
    assert (done.status, done.json["error"]["code"], cli.record()) == (128, "handover_unsupported", begun)
    assert done.json["error"]["hints"] == ["give one, at the end: -- --model PROVIDER/MODEL"]
    cli.ok("resume", "-e", "opencode", "-n", "two", "--", "--model", "one/model")
    config = cli.home / ".config/opencode/opencode.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"model": "own/model"}))
    cli.ok("resume", "-e", "opencode", "two")
    assert (cli.record().agent_name, cli.calls()[-1]["stdin"]) == ("opencode", "two")


@pytest.mark.parametrize("text", ["{", "[]", '{"model": 7}', '{"model": "none"}', "// words\n{}"])
def test_settings_of_opencodes_that_name_no_model_do_not_count(tmp_path: Path, text: str) -> None:
    query = StoreQuery({"HOME": str(tmp_path)}, str(tmp_path), (1, 18, 33))
    config = tmp_path / ".config/opencode/opencode.json"
    config.parent.mkdir(parents=True)
    config.write_text(text)
    assert store.model(query) is None
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.db").write_text("no database")
    assert store.model(query) is None


def test_the_newest_message_names_opencodes_model(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "opencode.db")) as database, database:
        database.execute("CREATE TABLE message (id TEXT, time_created INTEGER, data TEXT)")
        for at, (role, name) in enumerate([("user", "old"), ("user", "new"), ("assistant", "no")]):
            data = {"role": role, "model": {"providerID": "p", "modelID": name}}
            database.execute("INSERT INTO message VALUES (?, ?, ?)", (str(at), at, json.dumps(data)))
    assert store.model(StoreQuery({"HOME": str(tmp_path)}, str(tmp_path), (1, 18, 33))) == "p/new"


def test_a_number_of_tokens_that_is_none_is_named(cli: Cli) -> None:
    cli.repo.git("config", "agent.codex.handoverTokens", "many")
    done = cli.run("start", "-e", "claude", "one")
    assert (done.status, "Invalid agent.codex.handoverTokens" in done.err) == (128, True)


@pytest.mark.parametrize(
    ("words", "environ", "code"),
    [
        pytest.param(("-i",), {}, "not_a_terminal", id="no terminal"),
        pytest.param(("--terminal",), {}, "terminal_unknown", id="no terminal to open"),
        pytest.param(("two",), {"GIT_PREFIX": ""}, "inside_run", id="in a hook of another run"),
        pytest.param(("two", "--", "stray"), {}, "usage", id="a word for the engine"),
    ],
)
def test_what_is_in_the_way_is_found_before_anything_is_handed_over(
    cli: Cli, words: tuple[str, ...], environ: dict[str, str], code: str
) -> None:
    begun = cli.begin("claude")
    environ = {"GIT_AGENT_HANDLE": "0" * 8, **environ} if environ else {}
    state, before = cli.state(), files(cli.home)
    done = cli.run("resume", "-e", "codex", "--json", *words, stdin=None, cwd=None, **environ)
    assert done.json["error"]["code"] == code
    assert (cli.state(), files(cli.home), cli.record()) == (state, before, begun)


@pytest.mark.parametrize("place", ["here", "in the settings"])
def test_a_session_is_not_handed_over_to_a_store_that_is_elsewhere(cli: Cli, place: str) -> None:
    begun = cli.begin("claude")
    flags = ["--model", "a/b", "--attach", "http://127.0.0.1:1"]
    if place == "in the settings":
        cli.repo.git("config", "agent.opencode.args", " ".join(flags))
        flags = []
    done = cli.run("resume", "-e", "opencode", "--json", "two", "--", *flags)
    assert (done.json["error"]["code"], cli.record(), len(cli.calls())) == ("handover_unsupported", begun, 1)
    assert "--attach" in done.json["error"]["message"]


def test_a_run_that_went_on_meanwhile_is_not_handed_over(here: Cli) -> None:
    """Its new turns would be missing."""
    begun = here.begin("claude")
    ctx = context.load()
    todo = hand_over.prepare(ctx, begun, "codex")
    here.ok("resume", "meanwhile")
    now = here.record()
    with pytest.raises(UserError, match="was resumed by another git-agent just now"):
        hand_over.perform(ctx, load("codex"), "codex", todo, todo.record)
    assert here.record() == now
