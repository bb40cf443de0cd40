"""`git agent watch`, with stand-ins for engines: what is done with runs in trouble, and once."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from git_agent_runner.unattended.policies import taken
from git_agent_runner.unattended.policies.decide import JITTER
from support.cli import Cli
from support.waiting import PATIENCE, until
from support.watching import CRASH, kept, messages, ours, policies

RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings"
LIMITED = str(RECORDINGS / "codex/0.171.0/14a-ratelimit/stdout")
LIMITED_ID = "00000000-0001-7abc-8def-000000000001"


def test_a_dead_run_goes_on(cli: Cli) -> None:
    begun = cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = "resume"')
    done = cli.ok("watch")
    attempt = cli.attempt(2)
    assert (attempt.kind, attempt.status, attempt.resumed) == ("resume", "completed", "yes")
    assert messages(cli) == ["begin", "Continue from where you left off."]
    assert ours(done)[1:] == [
        f'{begun.handle} main: dead: resume with "Continue from where you left off."',
        f"{begun.handle} main: attempt 2: completed",
    ]
    assert cli.ok("watch").out == ""
    assert len(cli.calls()) == 2


def test_a_killed_git_agent_is_dead_too(cli: Cli) -> None:
    begun = cli.start("start", "-e", "codex", "begin", FAKE_CMD="exec sleep 600")
    until(lambda: cli.calls() and cli.record().session.value, "the session is stored")
    for process in [psutil.Process(begun.pid), *psutil.Process(begun.pid).children(recursive=True)]:
        process.kill()
    begun.communicate()
    until(lambda: cli.run("status", "--json").json["state"] == "dead", "all of it is gone")
    policies(cli, 'on_dead = { action = "resume", message = "and now?", append = true }')
    cli.ok("watch")
    assert [cli.attempt(1).status, cli.attempt(2).status] == ["interrupted", "completed"]
    assert messages(cli) == ["begin", "and now?"]


@pytest.mark.parametrize(
    ("action", "environ", "kind", "sent"),
    [
        pytest.param('"resume"', {}, "resume", "Continue from where you left off.", id="no message"),
        pytest.param('{ action = "resume", message = "m", append = true }', {}, "resume", "m", id="appended"),
        pytest.param('{ action = "resume", message = "m", append = false }', {}, "fresh", "m", id="replaced"),
        pytest.param('{ action = "resume", message = "m" }', {}, "fresh", "m", id="replaced by default"),
        pytest.param('"resume"', {"FAKE_ID": "none", "FAKE_EXIT": "3"}, "fresh", "begin", id="no session, no message"),
        pytest.param(
            '{ action = "resume", message = "m", append = true }',
            {"FAKE_ID": "none", "FAKE_EXIT": "3"},
            "fresh",
            "begin\n\nm",
            id="no session, appended",
        ),
        pytest.param(
            '{ action = "resume", message = "m" }',
            {"FAKE_ID": "none", "FAKE_EXIT": "3"},
            "fresh",
            "m",
            id="no session, new",
        ),
        pytest.param('"recover"', {}, "resume", "Continue from where you left off.", id="by its old name"),
    ],
)
def test_the_decision_matrix(cli: Cli, action: str, environ: dict[str, str], kind: str, sent: str) -> None:
    cli.begin("codex", cwd=None, FAKE_CMD=CRASH, **environ)
    policies(cli, f"on_dead = {action}\non_error = {action}")
    cli.ok("watch")
    assert (cli.attempt(2).kind, messages(cli)[1], cli.attempt(2).status) == (kind, sent, "completed")


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        pytest.param('"resume"', "begin", id="no message"),
        pytest.param('{ action = "resume", message = "m", append = true }', "begin\n\nm", id="appended"),
        pytest.param('{ action = "resume", message = "m" }', "m", id="replaced"),
    ],
)
def test_a_session_that_is_gone_is_as_none(cli: Cli, action: str, sent: str) -> None:
    """A new conversation has nothing to continue from, so it begins as the run did; and it is said to be new."""
    begun = cli.begin(FAKE_CMD=CRASH)
    shutil.rmtree(cli.home / ".codex/sessions")
    cli.forget_copies()
    policies(cli, f"on_dead = {action}")
    done = cli.ok("watch")
    assert (cli.attempt(2).kind, messages(cli)[1], cli.attempt(2).status) == ("fresh", sent, "completed")
    why = f"session {begun.session.value} cannot be resumed: codex has no such session in {cli.home}/.codex"
    asked = "append" not in action and "message" in action  # then nothing was lost
    said = f"{begun.handle} main: attempt 2: completed, in a new session"
    assert ours(done)[-1] == (said if asked else f"{said} ({why})")


def test_a_rate_limit_waits(cli: Cli) -> None:
    begun = cli.begin(FAKE_OUT=LIMITED, FAKE_ID=LIMITED_ID, FAKE_EXIT="1")
    # An end in the future: the wait counts from the watch's first look, however long it takes to begin.
    path = Path(cli.layout.attempt(begun.run_id, 1), "attempt.yaml")
    ended = f'endedAt: "{cli.attempt(1).ended_at}"'
    path.write_text(path.read_text().replace(ended, 'endedAt: "2126-01-01T00:00:00Z"'))
    policies(cli, 'on_error = [ { match = "rate_limited", action = "resume", cooldown = "4s" } ]')
    before = time.time()
    done = cli.ok("watch", "--json")
    assert ours(done)[1].startswith(f"{begun.handle} main: rate_limited: resume in ")
    assert seconds(cli.attempt(2).started_at) - before >= 4.0
    assert done.json == {
        "schema": 1,
        "runs": [{"handle": begun.handle, "branch": "main", "actions": 1, "end": None, "reason": ""}],
    }


def test_the_engine_is_given_the_time_that_it_asks_for(cli: Cli, tmp_path: Path) -> None:
    told: list[Any] = [{"type": "thread.started", "thread_id": LIMITED_ID}, {"type": "turn.started"}]
    text = "Rate limit reached. Please try again in 500s. (429 Too Many Requests)"
    told += [{"type": "error", "message": text}, {"type": "turn.failed", "error": {"message": text}}]
    (tmp_path / "out").write_text("".join(json.dumps(line) + "\n" for line in told))
    begun = cli.begin(FAKE_OUT=str(tmp_path / "out"), FAKE_ID=LIMITED_ID, FAKE_EXIT="1")
    policies(cli, 'on_error = { match = "rate_limited", action = "resume", cooldown = "1s" }')
    done = cli.ok("watch", "--once")
    (line,) = ours(done)[1:]
    wait = re.fullmatch(rf"{begun.handle} main: rate_limited: resume in (\d+) s", line)
    assert wait, line
    assert 400 <= int(wait[1]) <= 500 * (1 + JITTER)


def seconds(moment: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(moment).timestamp()


def test_given_up_after_so_many_attempts(cli: Cli) -> None:
    begun = cli.begin(FAKE_CMD=CRASH)
    told = cli.home / "told"
    policies(cli, 'on_dead = { action = "resume", attempts = 2 }')
    done = cli.run("watch", FAKE_CMD=CRASH)
    assert (done.status, cli.record().attempts) == (1, 3)
    assert done.out.split()[5:8] == [begun.handle, "main", "2"]
    reason = "dead, and resume was tried 2 times"
    assert reason in done.out
    assert not told.exists()
    assert kept(cli) == taken.Kept(3, "on_dead", 2, reason, "escalated")
    assert cli.run("status", "--json").json["policy"] == {"end": "escalated", "reason": reason}
    assert f"policy    escalated: {reason}" in cli.run("status").out
    assert cli.ok("watch").out == ""  # a person must look at it first
    cli.ok("resume", "by hand")
    assert cli.run("status", "--json").json["policy"] is None
    cli.ok("watch")
    assert cli.record().attempts == 4


def test_a_person_is_told_once(cli: Cli) -> None:
    begun = cli.begin(FAKE_CMD=CRASH)
    told = cli.home / "told"
    command = ["sh", "-c", f'echo "$GIT_AGENT_RUN $GIT_AGENT_BRANCH $GIT_AGENT_STATUS $PWD" >>"{told}"']
    policies(cli, f'on_dead = {{ action = "escalate", run = {json.dumps(command)} }}')
    assert cli.run("watch").status == 1
    assert cli.run("watch").status == 0
    assert told.read_text() == f"{begun.handle} main interrupted {cli.repo.path}\n"


@pytest.mark.parametrize(
    ("action", "status", "end"),
    [pytest.param("done", 0, "done", id="done"), pytest.param("fail", 1, "failed", id="fail")],
)
def test_left_as_it_is(cli: Cli, action: str, status: int, end: str) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, f'on_dead = "{action}"')
    assert cli.run("watch").status == status
    found = kept(cli)
    assert found
    assert (cli.record().attempts, found.end) == (1, end)


def test_ctrl_c_of_the_person_is_the_persons_will(cli: Cli) -> None:
    begun = cli.start("start", "-e", "codex", "begin", FAKE_CMD="exec sleep 600")
    until(lambda: cli.calls() and cli.record().session.value, "the session is stored")
    begun.send_signal(signal.SIGINT)
    begun.communicate()
    policies(cli, 'on_dead = "resume"\non_error = "resume"')
    cli.ok("watch")
    assert (cli.record().attempts, cli.record().status) == (1, "interrupted")


def test_a_run_whose_branch_is_checked_out_nowhere_costs_no_action(cli: Cli) -> None:
    """faults B14: said once, and picked up by the next watch when there is a work tree for it."""
    cli.repo.switch_new("side")
    begun = cli.begin(FAKE_CMD=CRASH)
    cli.repo.git("switch", "-q", "main")
    policies(cli, 'on_dead = "resume"')
    done = cli.run("watch")
    (line,) = [line for line in ours(done) if begun.handle in line]
    assert line.startswith(
        f"{begun.handle} side: 'side' is not checked out anywhere; to continue it: git worktree add "
    )
    assert (done.status, len(cli.calls()), kept(cli)) == (1, 1, None)
    cli.repo.git(*line.rpartition(": git ")[2].split())
    cli.ok("watch")
    assert cli.attempt(2).status == "completed"


def test_a_run_that_was_replaced_is_left_in_peace(cli: Cli) -> None:
    old = cli.begin(FAKE_CMD=CRASH)
    cli.begin(FAKE_ID="new")
    policies(cli, 'on_dead = "resume"')
    cli.ok("watch")
    assert cli.record(old.handle).attempts == 1


def silent(cli: Cli) -> subprocess.Popen[bytes]:
    """A run whose engine prints its session and then nothing more; git-agent of that attempt."""
    cli.repo.git("config", "agent.stallAfter", "1")
    begun = cli.start("start", "-e", "codex", "begin", FAKE_CMD="exec sleep 600")
    until(lambda: cli.calls() and cli.record().session.value, "the session is stored")
    return begun


def test_a_silent_engine_is_nudged(cli: Cli) -> None:
    begun = silent(cli)
    policies(cli, 'on_idle = { message = "are you there?", append = true }')
    cli.ok("watch")
    begun.communicate()
    first, second = cli.attempt(1), cli.attempt(2)
    assert (first.status, first.survivors) == ("stalled", ())
    assert (second.kind, second.status, second.resumed) == ("resume", "completed", "yes")
    assert messages(cli) == ["begin", "are you there?"]


def test_a_silent_engine_that_met_an_error_is_nudged_by_the_errors_rule(cli: Cli) -> None:
    cli.repo.git("config", "agent.stallAfter", "1")
    cli.repo.git("config", "agent.continueMessage", "now?")
    error = json.dumps({"type": "error", "message": "exceeded retry limit, last status: 429 Too Many Requests"})
    begun = cli.start("start", "-e", "codex", "begin", FAKE_CMD=f"echo '{error}' >/proc/$PPID/fd/1; exec sleep 600")
    until(lambda: cli.calls() and cli.record().session.value, "the session is stored")
    policies(cli, 'on_error = { match = "rate_limited", action = "resume" }\non_idle = "fail"')
    done = cli.ok("watch")
    begun.communicate()
    assert f'{cli.record().handle} main: rate_limited: nudge with "now?"' in ours(done)
    assert (cli.attempt(2).kind, cli.attempt(2).status, messages(cli)) == ("resume", "completed", ["begin", "now?"])


@pytest.mark.parametrize(
    ("action", "status", "end"),
    [pytest.param("done", 0, "done", id="done"), pytest.param("fail", 1, "failed", id="fail")],
)
def test_a_silent_engine_is_ended(cli: Cli, action: str, status: int, end: str) -> None:
    begun = silent(cli)
    policies(cli, f'on_idle = "{action}"')
    assert cli.run("watch").status == status
    begun.communicate()
    found = kept(cli)
    assert found
    assert (cli.record().attempts, cli.record().status, found.end) == (1, "stalled", end)


def test_of_a_silent_engine_a_person_is_told_and_it_works_on(cli: Cli) -> None:
    begun = silent(cli)
    policies(cli, 'on_idle = "escalate"')
    assert cli.run("watch").status == 1
    assert begun.poll() is None
    begun.send_signal(signal.SIGINT)
    begun.communicate()
    assert cli.record().attempts == 1


def test_a_run_at_work_is_looked_after_though_its_branch_has_another(cli: Cli) -> None:
    """It is known to the next watch, too, once one has seen it."""
    gate = cli.home / "gate"
    first = cli.start("start", "-e", "codex", "begin", FAKE_CMD=f'until [ -e "{gate}" ]; do sleep 0.1; done; {CRASH}')
    until(lambda: cli.calls() and cli.record().session.value, "the session is stored")
    old = cli.record().handle
    policies(cli, 'on_dead = "resume"')
    watch = cli.start("watch")
    until(lambda: taken.read(cli.layout, cli.record(old).run_id), "the watch has seen it")
    cli.begin("claude")
    watch.kill()
    watch.communicate()
    gate.touch()
    first.communicate(timeout=PATIENCE)
    assert cli.record(old).status == "interrupted"
    cli.ok("watch")
    assert (cli.record(old).attempts, cli.record(old).status) == (2, "completed")


def test_what_was_tried_is_forgotten_once_it_went_well(cli: Cli) -> None:
    begun = cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = "resume"')
    cli.ok("watch")
    cli.run("resume", "by hand", FAKE_CMD=CRASH)
    cli.ok("watch")
    assert (cli.record(begun.handle).attempts, cli.record(begun.handle).status) == (4, "completed")


def test_where_no_policy_speaks_nothing_is_done(cli: Cli) -> None:
    begun = cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_error = "resume"')
    done = cli.ok("watch")
    assert (ours(done)[1:], cli.record().attempts) == ([f"{begun.handle} main: on_dead: no policy"], 1)


def test_without_any_policy_it_says_how_to_write_one(cli: Cli) -> None:
    done = cli.run("watch")
    assert done.status == 128
    assert done.lines[:2] == [
        "fatal: no policy is set for runs that die or fail",
        "hint: git config agent.onDead resume",
    ]


def test_once_waits_for_nothing_that_is_not_due(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = { action = "resume", cooldown = "1h" }')
    cli.ok("watch", "--once")
    assert cli.record().attempts == 1


def test_several_at_once_but_not_more_than_asked(cli: Cli, tmp_path: Path) -> None:
    """Each in its own work tree, each message once."""
    handles = []
    for name in ("one", "two", "three"):
        where = tmp_path / name
        cli.repo.git("worktree", "add", "-q", "-b", name, str(where))
        handles.append(cli.begin(cwd=where, FAKE_CMD=CRASH, FAKE_ID="new").handle)
    policies(cli, 'on_dead = { action = "resume", message = "once", append = true }')
    log = tmp_path / "log"
    two = f'until [ "$(grep -c + "{log}")" -ge 2 ]; do sleep 0.05; done'
    cli.ok("watch", "--jobs", "2", FAKE_CMD=f'echo + >>"{log}"; {two}; sleep 0.5; echo - >>"{log}"')
    signs: list[Any] = log.read_text().split()
    depth = [signs[: n + 1].count("+") - signs[: n + 1].count("-") for n in range(len(signs))]
    assert (len(signs), max(depth)) == (6, 2)
    assert messages(cli).count("once") == 3
    assert {call["cwd"] for call in cli.calls()[3:]} == {str(tmp_path / n) for n in ("one", "two", "three")}
    assert [cli.attempt(2, handle).status for handle in handles] == ["completed"] * 3
