"""A session that its engine has lost comes back from the run's own copy; a failed copy costs nothing else."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from git_agent_runner import context
from git_agent_runner.conversation import backup, place
from git_agent_runner.core.model import Record
from git_agent_runner.store import session_copies
from git_agent_runner.store.session_copies import MANIFEST, TOO_LARGE
from support.cli import Cli, Done

ENGINES = ("codex", "claude", "gemini", "opencode", "iflow", "qwen", "copilot")
FILES = {
    "codex": ".codex/sessions/*/*/*/rollout-*.jsonl",
    "claude": ".claude/projects/*/*.jsonl",
    "gemini": ".gemini/tmp/*/chats/*.jsonl",
    "iflow": ".iflow/projects/*/*.jsonl",
    "qwen": ".qwen/projects/*/chats/*.jsonl",
    "copilot": ".copilot/session-state/*/events.jsonl",
}


def stored(cli: Cli, engine: str) -> list[Path]:
    return list(cli.home.glob(FILES[engine]))


def database(cli: Cli) -> Path:
    return cli.home / ".local/share/opencode/opencode.db"


def forget(cli: Cli, engine: str) -> None:
    if engine != "opencode":
        for path in stored(cli, engine):
            path.unlink()
        return
    with closing(sqlite3.connect(database(cli))) as opened, opened:
        for table in ("session", "message", "part"):
            opened.execute(f"DELETE FROM {table}")


def turns(cli: Cli, engine: str) -> str:
    """All that the engine's store holds of its one session."""
    if engine != "opencode":
        (path,) = stored(cli, engine)
        return path.read_text()
    with closing(sqlite3.connect(database(cli))) as opened:
        return " ".join(data for (data,) in opened.execute("SELECT data FROM part ORDER BY id"))


def folder(cli: Cli, record: Record) -> Path:
    """Where the run keeps its copy."""
    return Path(session_copies.place(cli.layout, record.run_id, str(record.session.value)))


def warnings(done: Done) -> list[str]:
    return [line for line in done.lines if line.startswith("warning:")]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lost_session_is_put_back_and_goes_on(cli: Cli, engine: str) -> None:
    begun = cli.begin(engine)
    before = turns(cli, engine)
    forget(cli, engine)
    session = begun.session.value
    dry = cli.ok("resume", "--dry-run", "go on")
    assert dry.lines == [f"git-agent: {engine} has lost session {session}: the run's backup would be restored first"]
    assert cli.ok("resume", "--dry-run", "--json", "go on").json["restores"] is True
    assert cli.ok("status", "--json").json["resumable"] is True
    if engine != "opencode":
        assert stored(cli, engine) == []  # all of that only looked
    done = cli.ok("resume", "go on")
    (said,) = [line for line in done.lines if "restored" in line]
    assert said.startswith(f"git-agent: {engine} had lost session {session}: the backup of 20")
    assert turns(cli, engine).startswith(before)
    assert len(turns(cli, engine)) > len(before)
    assert (cli.attempt(2).resumed, cli.record().session) == ("yes", begun.session)
    assert warnings(done) == []
    assert cli.ok("resume", "--dry-run", "--json", "x").json["restores"] is False


@pytest.mark.parametrize("engine", sorted(FILES))
def test_the_copy_is_exact_private_and_no_link(cli: Cli, engine: str) -> None:
    begun = cli.begin(engine)
    (source,) = stored(cli, engine)
    (kept,) = [path for path in folder(cli, begun).iterdir() if path.name != MANIFEST]
    assert kept.read_bytes() == source.read_bytes()
    assert (kept.stat().st_nlink, kept.stat().st_ino == source.stat().st_ino) == (1, False)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder(cli, begun).iterdir()} == {0o600}
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder(cli, begun), folder(cli, begun).parent)] == [
        0o700
    ] * 2
    manifest = json.loads((folder(cli, begun) / MANIFEST).read_text())
    assert (manifest["engine"], manifest["engine_version"]) == (engine, begun.engine_version)
    assert str(source).endswith(manifest["files"][0]["path"])


@pytest.mark.parametrize("engine", sorted(FILES))
def test_it_is_put_back_where_it_stood_though_the_whole_store_is_gone(cli: Cli, engine: str) -> None:
    cli.begin(engine)
    (source,) = stored(cli, engine)
    before = source.read_bytes()
    top = cli.home / FILES[engine].split("/")[0]
    if engine == "iflow":
        source.unlink()  # without any store its place is not known
    else:
        top.rename(cli.home / "away")
    done = cli.ok("resume", "go on")
    assert "was restored" in done.err
    if engine == "gemini":  # its folder's name went with the store; gemini takes over files under the old kind of name
        (source,) = [path for path in stored(cli, engine) if path.read_bytes() == before]
    assert source.read_bytes().startswith(before)
    assert stat.S_IMODE(source.stat().st_mode) == 0o600
    assert [name for name in os.listdir(source.parent) if ".git-agent." in name] == []


def test_what_did_not_change_is_not_copied_again(cli: Cli) -> None:
    begun = cli.begin("codex")
    (kept,) = [path for path in folder(cli, begun).iterdir() if path.name != MANIFEST]
    before = kept.stat().st_ino, (folder(cli, begun) / MANIFEST).stat().st_ino
    cli.run("resume", "go on", FAKE_UNKNOWN="fail")
    assert (kept.stat().st_ino, (folder(cli, begun) / MANIFEST).stat().st_ino) == before
    cli.ok("resume", "go on")
    (now,) = [path for path in folder(cli, begun).iterdir() if path.name != MANIFEST]
    assert (now.name != kept.name, "go on" in now.read_text()) == (True, True)


def test_nothing_that_stands_is_overwritten(cli: Cli) -> None:
    """An emptied file is not taken for a lost one: whoever emptied it may want it so."""
    begun = cli.begin("claude")
    (source,) = stored(cli, "claude")
    source.write_text("")
    done = cli.run("resume", "go on")
    assert (done.status, done.lines[0]) == (
        128,
        f"fatal: session {begun.session.value} cannot be resumed: its file holds no turn of the conversation",
    )
    assert f"hint: a backup is in '{folder(cli, begun)}'; move '{source}' away, and it will be restored" in done.lines
    assert source.read_text() == ""
    source.unlink()
    cli.ok("resume", "go on")


def test_an_archived_session_is_left_where_it_is(cli: Cli) -> None:
    cli.begin("codex")
    (source,) = stored(cli, "codex")
    archive = cli.home / ".codex/archived_sessions"
    archive.mkdir()
    source.rename(archive / source.name)
    done = cli.run("resume", "go on")
    assert (done.status, "codex unarchive" in done.lines[0], stored(cli, "codex")) == (128, True, [])
    assert cli.run("start", "--resume", "go on").status == 128  # it is not gone: faults A10
    assert len(cli.calls()) == 1


def test_a_resume_elsewhere_takes_the_session_along(cli: Cli, tmp_path: Path) -> None:
    """qwen keeps the sessions of each directory apart; what is in the first one stays as it is."""
    cli.begin("qwen")
    (before,) = stored(cli, "qwen")
    text = before.read_bytes()
    cli.ok("resume", "--cwd", str(tmp_path), "go on")
    assert (before.read_bytes(), len(stored(cli, "qwen"))) == (text, 2)
    cli.ok("resume", "once more")
    assert [call["cwd"] for call in cli.calls()][1:] == [str(tmp_path)] * 2


def damage(place: Path) -> None:
    (kept,) = [path for path in place.iterdir() if path.name != MANIFEST]
    kept.write_bytes(kept.read_bytes()[:-5])


def remove(place: Path) -> None:
    (kept,) = [path for path in place.iterdir() if path.name != MANIFEST]
    kept.unlink()


def link_content(place: Path) -> None:
    (kept,) = [path for path in place.iterdir() if path.name != MANIFEST]
    kept.rename(place.parent / "moved")
    kept.symlink_to(place.parent / "moved")


@pytest.mark.parametrize("harm", [damage, remove, link_content])
@pytest.mark.parametrize("engine", ["codex", "opencode"])
def test_a_copy_that_is_damaged_is_told_and_not_used(cli: Cli, engine: str, harm: Callable[[Path], None]) -> None:
    begun = cli.begin(engine)
    harm(folder(cli, begun))
    forget(cli, engine)
    done = cli.run("resume", "--json", "go on")
    assert (done.status, done.json["error"]["code"]) == (128, "session_missing")
    gone = f"session {begun.session.value} is missing from {engine}'s store, and its backup cannot be restored: "
    assert done.json["error"]["message"].startswith(gone)
    if engine == "codex":
        assert stored(cli, engine) == []
        assert not any(".git-agent." in name for _, _, names in os.walk(cli.home / ".codex") for name in names)
    assert [call["stdin"] for call in cli.calls()] == ["begin"]
    anew = cli.ok("resume", "--fallback", "fresh", "go on")
    assert any(line.startswith(f"warning: NOT resumed: {gone}") for line in anew.lines)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"files": []}, id="no files"),
        pytest.param({"schema": 2}, id="of a newer git-agent"),
        pytest.param({"session": "another"}, id="of another session"),
        pytest.param({"engine": "claude"}, id="of another engine"),
        pytest.param({"cwd": "/elsewhere"}, id="of another directory"),
        pytest.param({"strange": 1}, id="unknown key"),
        pytest.param({"session_cwd": 3}, id="no path"),
        pytest.param({"path": "../../../../evil-{}"}, id="climbs"),
        pytest.param({"path": "/tmp/evil-{}"}, id="absolute"),
        pytest.param({"path": "a//{}"}, id="empty step"),
        pytest.param({"path": "config.toml"}, id="another file of the engine"),
        pytest.param({"sha256": "../../../../../../etc/passwd"}, id="content elsewhere"),
        pytest.param({"size": float("inf")}, id="an endless size"),
    ],
)
def test_a_manifest_that_was_tampered_with_puts_nothing_back(cli: Cli, change: dict[str, object]) -> None:
    begun = cli.begin("codex")
    path = folder(cli, begun) / MANIFEST
    manifest = json.loads(path.read_text())
    for key, value in change.items():
        target = manifest["files"][0] if key in ("path", "sha256", "size") else manifest
        target[key] = value.format(begun.session.value) if isinstance(value, str) else value
    path.write_text(json.dumps(manifest))
    forget(cli, "codex")
    done = cli.run("resume", "go on")
    assert (done.status, "codex has no such session" in done.lines[0]) == (128, True)
    assert stored(cli, "codex") == []


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 100_000], ids=range(6))
def test_a_manifest_that_cannot_be_read_is_no_copy_and_is_replaced(cli: Cli, text: bytes) -> None:
    begun = cli.begin("codex")
    (folder(cli, begun) / MANIFEST).write_bytes(text)
    assert warnings(cli.ok("resume", "go on")) == []
    forget(cli, "codex")
    assert "was restored" in cli.ok("resume", "go on").err


def test_a_link_in_the_way_is_not_followed(cli: Cli, tmp_path: Path) -> None:
    """Neither out of the run directory, when the copy is made, nor out of the store, when it is restored."""
    begun = cli.begin("claude")
    (source,) = stored(cli, "claude")
    outside = tmp_path / "outside"
    outside.mkdir()
    project = source.parent
    source.unlink()
    project.rmdir()
    project.symlink_to(outside)
    done = cli.run("resume", "go on")
    assert (done.status, "cannot be restored" in done.lines[0], list(outside.iterdir())) == (128, True, [])
    project.unlink()
    kept = folder(cli, begun).parent
    kept.rename(tmp_path / "kept")
    kept.symlink_to(outside)
    cli.run("resume", "--fallback", "fresh", "go on")
    assert list(outside.iterdir()) == []


def test_a_link_in_the_store_is_not_copied(cli: Cli, tmp_path: Path) -> None:
    begun = cli.begin("claude")
    (source,) = stored(cli, "claude")
    source.rename(tmp_path / "secret")
    source.symlink_to(tmp_path / "secret")
    done = cli.ok("resume", "go on")
    assert [line.startswith("warning: claude's session could not be backed up: ") for line in warnings(done)] == [True]
    (kept,) = [path for path in folder(cli, begun).iterdir() if path.name != MANIFEST]
    assert "go on" not in kept.read_text()


def test_a_full_disk_keeps_the_copy_of_before(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = here.begin("codex")
    place = folder(here, begun)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    (source,) = stored(here, "codex")
    with source.open("a") as file:
        file.write("x" * 100_000 + "\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32 * 1024, hard))
    try:
        from git_agent_runner.core.errors import UserError

        with pytest.raises(UserError, match="codex's session could not be backed up: File too large") as caught:
            backup.keep(context.load(), here.attempt())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "copy_failed"
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_a_session_that_grew_too_large_is_told_once(cli: Cli) -> None:
    begun = cli.begin("codex")
    (source,) = stored(cli, "codex")
    os.truncate(source, place.LIMIT + 1)
    told = [warnings(cli.ok("resume", word)) for word in ("one", "two")]
    assert told == [["warning: codex's session is larger than 64 MiB, so it is no longer backed up"], []]
    names = {path.name for path in folder(cli, begun).iterdir()}
    assert {MANIFEST, TOO_LARGE} < names
    assert len(names) == 3
    forget(cli, "codex")
    assert "was restored" in cli.ok("resume", "three").err


def test_a_warning_is_all_that_a_failed_copy_costs(cli: Cli) -> None:
    begun = cli.begin("codex")
    place = folder(cli, begun)
    place.rename(place.with_name("aside"))
    place.write_text("in the way")
    done = cli.ok("resume", "--json", "go on")
    assert done.json["warnings"] == ["codex's session could not be backed up: Not a directory"]
    assert (cli.record().status, cli.noted()) == ("completed", [begun.handle])


def test_each_session_of_a_run_has_a_copy_of_its_own(cli: Cli) -> None:
    begun = cli.begin("codex")
    cli.ok("resume", "--fallback", "fresh", "--session", "0199c9a8-0000-7000-8000-000000000000", "anew", FAKE_ID="new")
    after = cli.record()
    assert after.session != begun.session
    assert len(list(folder(cli, begun).parent.iterdir())) == 2
    forget(cli, "codex")
    done = cli.ok("resume", "--session", str(begun.session.value), "back")
    assert f"had lost session {begun.session.value}" in done.err


def test_a_killed_attempt_is_copied_when_it_is_settled(cli: Cli) -> None:
    from git_agent_runner.store.records import attempts

    begun = cli.begin("codex")
    attempts.save(cli.layout, cli.attempt()._replace(ended_at=None))
    (manifest,) = folder(cli, begun).glob(MANIFEST)
    manifest.unlink()
    cli.run("resume", "--session", "not one", "x")
    assert manifest.exists()
