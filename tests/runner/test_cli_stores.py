"""One session in several stores: which state a resume continues, and into which store a conversation may go."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from git_agent_runner.store import session_copies
from support.cli import Cli, ask

FILES = {
    "codex": ".codex/sessions/*/*/*/rollout-*.jsonl",
    "claude": ".claude/projects/*/*.jsonl",
    "copilot": ".copilot/session-state/*/events.jsonl",
    "opencode": ".local/share/opencode/opencode.db",
}
OTHER = {"codex": "CODEX_HOME", "claude": "CLAUDE_CONFIG_DIR", "gemini": "GEMINI_CLI_HOME", "opencode": "XDG_DATA_HOME"}


def there(home: Path, engine: str) -> Path:
    (found,) = home.glob(FILES[engine])
    return found


def said(home: Path, engine: str) -> str:
    """All that an engine's store holds of its one session."""
    if engine != "opencode":
        return there(home, engine).read_text()
    with closing(sqlite3.connect(there(home, engine))) as opened:
        return " ".join(data for (data,) in opened.execute("SELECT data FROM part ORDER BY id"))


def move(here: Cli, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """The person goes on in another home."""
    home.mkdir(exist_ok=True)
    shutil.copy(here.home / ".gitconfig", home) if (here.home / ".gitconfig").exists() else None
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local/share"))


def folder(here: Cli) -> Path:
    record = here.record()
    return Path(session_copies.place(here.layout, record.run_id, str(record.session.value)))


def kept(here: Cli, name: str = session_copies.MANIFEST) -> str:
    """The text of the run's copy, or of another beside it."""
    manifest = json.loads((folder(here) / name).read_text())
    return "".join((folder(here) / file["sha256"]).read_text() for file in manifest["files"])


@pytest.mark.parametrize("engine", sorted(FILES))
def test_two_homes_in_turn_lose_nothing(
    here: Cli, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Real gemini and qwen: tests/system/test_two_homes.py. faults A7, G7"""
    first, second = here.home, tmp_path / "second"
    assert ask("start", "-e", engine, "alpha") == 0
    root = here.record().store
    assert root
    assert (Path(root.root).is_relative_to(first.resolve()), root.variable) == (True, None)
    move(here, monkeypatch, second)
    assert ask("resume", "beta") == 0
    assert f"here; the run's was in '{root.root}': the backup of 20" in capfd.readouterr().err
    assert "alpha" in said(second, engine)
    move(here, monkeypatch, first)
    assert ask("resume", "--strict", "never") == 128
    assert "in an earlier state (1 turn, " in capfd.readouterr().err
    assert ask("resume", "gamma") == 0
    assert "the run's: 2 turns, the last of 20" in capfd.readouterr().err
    for word in ("alpha", "beta", "gamma"):
        assert word in said(first, engine)
        assert word in kept(here)
    assert "never" not in kept(here)
    assert "alpha" in kept(here, session_copies.REPLACED)
    assert "beta" not in kept(here, session_copies.REPLACED)


@pytest.mark.parametrize("engine", ["codex", "opencode"])
def test_states_that_parted_are_both_kept_and_none_is_chosen(
    here: Cli, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Somebody went on by hand in the first home. faults A7"""
    from support.engines import stores

    first, second = here.home, tmp_path / "second"
    ask("start", "-e", engine, "one")
    session = str(here.record().session.value)
    move(here, monkeypatch, second)
    assert ask("resume", "two") == 0
    move(here, monkeypatch, first)
    stores.save(engine, session, "by hand")
    before = said(first, engine)
    capfd.readouterr()
    assert ask("resume", "never", "--json") == 128
    error = json.loads(capfd.readouterr().out)["error"]
    assert error["code"] == "session_parted"
    assert "(2 turns, " in error["message"]
    assert "the run's: 2 turns, " in error["message"]
    assert ask("start", "--resume", "never") == 128
    assert (said(first, engine), "two" in kept(here)) == (before, True)
    words = error["hints"][0].rpartition("git agent ")[2].removesuffix('"<message>"').split()
    assert ask(*words, "three") == 0
    assert "by hand" in kept(here)
    assert "three" in kept(here)
    assert "two" in kept(here, "parted-1.json")


@pytest.mark.parametrize("engine", sorted(OTHER))
def test_another_account_s_store_is_not_entered(
    here: Cli, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """faults A9"""
    variable, work, personal = OTHER[engine], tmp_path / "work", tmp_path / "personal"
    monkeypatch.setenv(variable, str(work))
    assert ask("start", "-e", engine, "the plan") == 0
    store = here.record().store
    assert store
    assert (Path(store.root).is_relative_to(work.resolve()), store.variable) == (True, variable)
    monkeypatch.setenv(variable, str(personal))
    for words in (("resume", "x"), ("start", "--resume", "x"), ("resume", "--dry-run", "x")):
        capfd.readouterr()
        assert ask(*words) == 128
        told = capfd.readouterr().err
        assert f"is in '{store.root}' ({variable}), but {engine} now looks in '{personal.resolve()}" in told
        assert f"{variable}={work} git agent resume" in told
    assert [path for path in personal.rglob("*") if path.is_file()] == []
    monkeypatch.delenv(variable)
    assert ask("resume", "x") == 128
    monkeypatch.setenv(variable, str(personal))
    assert ask("resume", "--store", "said to both") == 0
    now = here.record().store
    assert now
    assert Path(now.root).is_relative_to(personal.resolve())
    assert here.attempt(2).resumed == "yes"


def test_another_store_does_not_tell_what_came_of_an_attempt(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """git-agent was killed; where the next one looks, nobody knows the session that the engine did begin. faults A9"""
    from git_agent_runner.store.records import attempts

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(here.home / "work"))
    ask("start", "-e", "claude", "the plan")
    begun = here.record()
    here.forget_copies()
    Path(here.layout.attempt(begun.run_id, 1), "stdout").write_text("")
    attempts.save(here.layout, here.attempt()._replace(ended_at=None, status=None, session_from=None))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(here.home / "personal"))
    assert ask("start", "--resume", "x") == 128
    assert (here.record().session, here.record().store, len(here.calls())) == (begun.session, begun.store, 1)


def test_an_attached_session_is_the_server_s(here: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This machine's store says nothing of it, and no other session takes its place. faults A11"""
    ask("start", "-e", "opencode", "one", "--", "--attach", "http://127.0.0.1:4096")
    begun = here.record()
    assert begun.store is None
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    for words in (("resume", "two"), ("start", "--resume", "three")):
        assert ask(*words) == 0
    assert here.record().session == begun.session
    selectors = [[word for word in call["argv"] if "ses_" in word] for call in here.calls()]
    assert selectors == [[], [f"--session={begun.session.value}"], [f"--session={begun.session.value}"]]
    assert [call["argv"].count("--attach") for call in here.calls()] == [1, 1, 1]


def test_only_what_nobody_has_is_replaced(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's word is enough where the store cannot be asked. faults A10"""
    ask("start", "-e", "opencode", "one", "--", "--attach", "http://127.0.0.1:4096")
    monkeypatch.setenv("FAKE_UNKNOWN", "fail")
    monkeypatch.setenv("FAKE_ID", "new")
    assert ask("start", "--resume", "two") == 0
    assert [here.attempt(number).kind for number in (1, 2, 3)] == ["start", "resume", "fresh"]


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("claude", "-another-project/{}.jsonl"),
        ("claude", "-another-project/memory/{}.md"),
        ("codex", "2026/11/28/rollout-2026-11-28T10-15-02-{}.jsonl.bak"),
        ("codex", "rollout-{}.toml"),
        ("gemini", "chats/{}.jsonl"),
        ("gemini", "logs/session-2026-11-28T10-15-{:.8}.jsonl"),
        ("qwen", "archive/{}.jsonl"),
        ("copilot", "{}/files/events.jsonl"),
        ("iflow", "a/b/{}.jsonl"),
    ],
)
def test_a_tampered_copy_makes_no_file_but_the_session_s_own(here: Cli, engine: str, name: str) -> None:
    """faults C5"""
    begun = here.begin(engine)
    session = str(begun.session.value)
    path = folder(here) / session_copies.MANIFEST
    manifest = json.loads(path.read_text())
    manifest["files"].append({**manifest["files"][0], "path": name.format(session)})
    path.write_text(json.dumps(manifest))
    hidden = [file for file in here.home.glob(f".{engine}/**/*.jsonl") if file.is_file()]
    for file in hidden:
        file.unlink()
    before = {file for file in here.home.rglob("*") if session[:8] in file.name}
    status = ask("resume", "go on")
    made = {file for file in here.home.rglob("*") if session[:8] in file.name} - before
    assert made <= set(hidden)
    assert (status, made) == (128, set()) or engine == "claude"


@pytest.mark.parametrize("harm", ["session", "message", "part"])
def test_a_document_that_names_another_session_is_not_imported(here: Cli, harm: str) -> None:
    """faults C5"""
    begun = here.begin("opencode")
    place = folder(here)
    manifest = json.loads((place / session_copies.MANIFEST).read_text())
    document = json.loads((place / manifest["files"][0]["sha256"]).read_bytes())
    message = document["messages"][0]
    if harm == "session":
        document["info"]["id"] = "ses_de0d732d2ffeZz8jXsLhQ57xxx"
    else:
        (message["info"] if harm == "message" else message["parts"][0])["sessionID"] = "ses_de0d732d2ffeZz8jXsLhQ57xxx"
    with closing(sqlite3.connect(there(here.home, "opencode"))) as opened, opened:
        for table in ("session", "message", "part"):
            opened.execute(f"DELETE FROM {table}")
    from hashlib import sha256

    data = json.dumps(document).encode()
    name = sha256(data).hexdigest()
    (place / name).write_bytes(data)
    manifest["files"] = [{**manifest["files"][0], "sha256": name, "size": len(data)}]
    (place / session_copies.MANIFEST).write_text(json.dumps(manifest))
    done = here.run("resume", "go on")
    assert (done.status, "cannot be restored: it " in done.lines[0]) == (128, True)
    with closing(sqlite3.connect(there(here.home, "opencode"))) as opened:
        assert opened.execute("SELECT count(*) FROM session").fetchone() == (0,)
    assert here.record().session == begun.session
