"""A conversation on another machine: shown, taken with the person's word, continued there, and back on the first."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.model import Session
from git_agent_runner import context
from git_agent_runner.conversation import formats, incoming, place
from git_agent_runner.core.errors import UserError
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery
from support.cli import Cli
from support.machines import Machine, two

# qwen's stand-in keeps no words; gemini's does not fill a new folder from what was put there, as gemini itself does.
ENGINES = tuple(engine for engine in formats.KNOWN if engine not in ("qwen", "gemini"))


@pytest.fixture
def pair(cli: Cli, tmp_path: Path) -> tuple[Machine, Machine]:
    return two(cli, tmp_path)


def said(machine: Machine, handle: str) -> list[str]:
    """The person's words in that machine's store."""
    record = machine.cli.record(handle)
    engine = load(record.agent_name)
    environ = machine.cli.environ(**machine.places)
    found = place.stored(engine, StoreQuery(environ, record.cwd, (99,), record.session.value))
    assert found
    return [message.text for message in formats.form(engine).read(found.pieces) if message.user]


def stores(machine: Machine) -> list[Path]:
    return [path for path in machine.cli.home.rglob("*") if path.is_file() and "git-agent" not in path.parts]


@pytest.mark.parametrize("engine", ENGINES)
def test_there_and_back(pair: tuple[Machine, Machine], engine: str) -> None:
    one, other = pair
    handle = one.begin(engine)
    one.share()
    other.ok("fetch")
    refused = other.run("resume", "two at b")
    assert refused.lines[0].startswith(f"fatal: the conversation of run {handle} comes from origin")
    assert f"hint: {engine}, 1 turn, " in refused.err
    assert "hint: first: begin" in refused.err
    assert refused.lines[-1] == f'hint: to take it: git agent resume {handle} --trust "<message>"'
    assert not Path(other.cli.layout.index_dir).exists()
    taken = other.ok("resume", handle, "--trust", "two at b")
    assert (
        f"the conversation of run {handle} (1 turn, from origin) was put where {engine} looks for it here" in taken.err
    )
    assert other.cli.attempt(2).resumed == "yes"
    assert said(other, handle) == ["begin", "two at b"]
    other.share()
    one.ok("fetch")
    older = one.run("resume", "three at a", "--json").json["error"]
    assert (older["code"], said(one, handle)) == ("conversation_untrusted", ["begin"])
    done = one.ok("resume", "--trust", "three at a")
    assert "in an earlier state (1 turn" in done.err
    assert said(one, handle) == ["begin", "two at b", "three at a"]
    one.ok("resume", "four at a")
    one.share()
    assert one.cli.record(handle).session == other.cli.record(handle).session


def test_a_signer_that_is_named_is_trusted(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    one, other = pair
    keygen(tmp_path / "key")
    public = (tmp_path / "key.pub").read_text().split()
    (tmp_path / "signers").write_text(f"ann@example.com {public[0]} {public[1]}\n")
    for machine in pair:
        for name, value in (
            ("gpg.format", "ssh"),
            ("user.signingKey", str(tmp_path / "key")),
            ("gpg.ssh.allowedSignersFile", str(tmp_path / "signers")),
            ("agent.engine", "claude"),
        ):
            machine.repo.git("config", name, value)
    one.repo.git("config", "commit.gpgSign", "true")
    handle = one.begin()
    one.share()
    other.ok("fetch")
    assert other.run("resume", "two", "--json").json["error"]["code"] == "conversation_untrusted"
    other.repo.git("config", "agent.trustFrom", "bob@example.com")
    assert other.run("resume", "two", "--json").json["error"]["code"] == "conversation_untrusted"
    other.repo.git("config", "--add", "agent.trustFrom", "ann@example.com")
    other.ok("resume", "two")
    assert said(other, handle) == ["begin", "two"]


def keygen(path: Path) -> None:
    import subprocess

    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def test_both_went_on(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    """Both states are kept, the second push says so, and a fork makes the other one a conversation of its own."""
    one, other = pair
    handle = one.begin()
    one.share()
    other.ok("fetch")
    other.ok("resume", handle, "--trust", "two at b")
    one.moved_on("two at a")
    other.share()
    second = one.share()
    assert f"conversation of run {handle}: another machine continued it, too" in second.err
    assert f"git agent fork {handle}" in second.err
    tree = one.repo.git("log", "--format=%H", "-1", f"refs/agent/sessions-remote/origin/{handle}")
    kept = one.repo.git("rev-list", tree).split()
    words = "".join(
        one.repo.git("cat-file", "blob", line.split()[2])
        for commit in kept
        for line in one.repo.git("ls-tree", commit).splitlines()
        if not line.endswith("manifest.json")
    )
    assert "two at a" in words
    assert "two at b" in words
    assert said(one, handle) == ["begin", "two at a"]
    one.ok("resume", "three at a")
    assert said(one, handle) == ["begin", "two at a", "three at a"]
    forked = one.ok("fork", handle, "--json").json["handle"]
    assert said(one, forked) == ["begin", "two at a", "three at a"]
    other.ok("fetch")
    told = other.ok("resume", handle, "three at b").err
    assert f"run {handle} continued on host " in told
    assert "so the one here continues" in told
    assert said(other, handle) == ["begin", "two at b", "three at b"]


def test_a_conversation_that_was_not_pushed(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    handle = one.begin()
    one.ok("push")
    other.ok("fetch")
    assert other.run("resume", "two").lines[0].startswith(f"fatal: run {handle} is known only from its note")


def test_another_conversation_under_that_id_stands_here(pair: tuple[Machine, Machine]) -> None:
    one, other = pair
    handle = one.begin()
    one.share()
    session = one.cli.record(handle).session.value
    folder = other.cli.home / ".claude/projects" / str(other.repo.path).replace("/", "-").replace(" ", "-")
    folder.mkdir(parents=True)
    mine = folder / f"{session}.jsonl"
    line = {"type": "user", "uuid": "u", "sessionId": session, "message": {"role": "user", "content": "my own"}}
    mine.write_text(json.dumps(line) + "\n")
    other.ok("fetch")
    other.run("resume", handle, "--trust", "two")
    assert mine.read_text().startswith(json.dumps(line))
    assert "begin" not in mine.read_text()


Change = Callable[[dict[str, Any]], object]


def _named(path: str, known: dict[str, Any]) -> None:
    known["files"][0]["path"] = path


def changes() -> Iterator[tuple[str, Change]]:
    for path in ("../../evil.jsonl", "/tmp/evil.jsonl", "a//b", "a/../../b", ".git/hooks/post-commit", "x\0y", "-"):
        yield f"path {path!a}", partial(_named, path)
    yield "a size of 10 GB", lambda known: known["files"][0]["pieces"][0].__setitem__(0, 10 << 30)
    yield "a negative size", lambda known: known["files"][0]["pieces"][0].__setitem__(0, -1)
    yield "another size", lambda known: known["files"][0]["pieces"][0].__setitem__(0, 7)
    yield "a sum that no piece has", lambda known: known["files"][0]["pieces"][0].__setitem__(1, "0" * 64)
    yield "no sum", lambda known: known["files"][0]["pieces"][0].__setitem__(1, "../../x")
    yield "no files", lambda known: known.update(files=[])
    yield "a file twice", lambda known: known["files"].append(known["files"][0])
    yield "a million pieces", lambda known: known["files"][0].update(pieces=known["files"][0]["pieces"] * 70000)
    yield "another engine", lambda known: known.update(agentName="codex")
    yield "another session", lambda known: known.update(session="11111111-1111-4111-8111-111111111111")
    yield "another run", lambda known: known.update(handle="00000000")
    yield "another run's id", lambda known: known.update(runId="20260101T000000Z-claude-00000000")
    yield "another project", lambda known: known.update(roots=["1" * 40])
    yield "a root that is an option", lambda known: known.update(roots=["--output=/tmp/evil"])
    yield "a document", lambda known: known.update(exported=True)
    yield "a newer form", lambda known: known.update(schema=2)
    yield "no time", lambda known: known.update(updatedAt="soon")
    yield "a number for a text", lambda known: known.update(host=1)


def test_hostile_refs_are_refused_and_write_nothing(
    pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair
    handle = one.begin()
    one.share()
    other.ok("fetch", "--sessions")
    repo, engine = other.repo, load("claude")
    good = repo.git("rev-parse", f"refs/agent/sessions-remote/origin/{handle}")
    session = one.cli.record(handle).session
    monkeypatch.chdir(repo.path)
    monkeypatch.setenv("HOME", str(other.cli.home))
    ctx = context.load(os.environ)
    entries = repo.git("ls-tree", good).splitlines()
    (piece,) = (line for line in entries if not line.endswith("manifest.json"))
    text = repo.git("cat-file", "blob", f"{good}:manifest.json")

    def blob(data: str) -> str:
        return repo.git("hash-object", "-w", "--stdin", stdin=data)

    def commit(manifest: str, *lines: str) -> str:
        made = "\n".join([f"100644 blob {manifest}\tmanifest.json", *lines]) + "\n"
        return repo.git("commit-tree", repo.git("mktree", "--missing", stdin=made), "-m", "x")

    def changed(change: Change) -> str:
        known = json.loads(text)
        change(known)
        return commit(blob(json.dumps(known)), piece)

    name, oid = piece.partition("\t")[2], piece.split()[2]
    huge = f"{'f' * len(oid)}"
    loose = repo.path / ".git/objects" / huge[:2] / huge[2:]
    loose.parent.mkdir(exist_ok=True)
    loose.write_bytes(zlib.compress(b"blob 10737418240\0" + b"x" * 100))
    hostile = {label: changed(change) for label, change in changes()}
    own = blob(text)
    hostile |= {
        "a link for a piece": commit(own, f"120000 blob {oid}\t{name}"),
        "a program for a piece": commit(own, f"100755 blob {oid}\t{name}"),
        "a commit for a piece": commit(own, f"160000 commit {good}\t{name}"),
        "other bytes than the sum says": commit(
            own, f"100644 blob {blob('x' * int(repo.git('cat-file', '-s', oid)))}\t{name}"
        ),
        "a piece that unpacks to 10 GB": commit(own, f"100644 blob {huge}\t{name}"),
        "a manifest that unpacks to 10 GB": commit(huge, piece),
        "no manifest": repo.git("commit-tree", repo.git("mktree", stdin=f"{piece}\n"), "-m", "x"),
        "text": commit(blob("not JSON"), piece),
        "a list": commit(blob("[]"), piece),
        "a deep one": commit(blob("[" * 100_000), piece),
        "a number of many digits": commit(blob('{"schema": 1' + "0" * 5000 + "}"), piece),
        "a blob": oid,
        "a tree": repo.git("rev-parse", f"{good}^{{tree}}"),
    }

    def answer(tip: str) -> str:
        try:
            incoming.opened(ctx, ("origin", tip), handle, engine, session)
        except UserError as error:
            return error.code
        return "taken"

    assert {label: answer(tip) for label, tip in hostile.items()} == dict.fromkeys(hostile, "conversation_refused")
    assert incoming.opened(ctx, ("origin", good), handle, engine, session).prompts == 1
    with pytest.raises(UserError, match="the run's is claude session x"):
        incoming.opened(ctx, ("origin", good), handle, engine, Session("session_id", "x"))
    assert stores(other) == []
    assert not Path(other.cli.layout.runs_dir).exists()
