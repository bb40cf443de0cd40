"""What a policy says about a run in trouble, and when: every cell of the matrix."""

from __future__ import annotations

import pytest

from git_agent_extractors.model import Status
from git_agent_runner.unattended.policies.decide import JITTER, Taken, decide
from git_agent_runner.unattended.policies.model import Action, ActionKind, Policy, Rule, Trouble

NEVER = 0.0
DEAD = Trouble("on_dead", None, since=1000.0)
LIMITED = Trouble("on_error", "rate_limited", since=1000.0)
SILENT = Trouble("on_idle", None, since=1000.0, alive=True)


def none() -> float:
    return NEVER


@pytest.mark.parametrize("kind", ["done", "fail", "escalate"])
def test_what_ends_a_run_is_not_put_off(kind: ActionKind) -> None:
    """That the silent engine was ended counts as one time."""
    found = decide(Policy(on_idle=Action(kind)), SILENT._replace(alive=False), Taken("on_idle", 1), none)
    assert found
    assert (found.how, found.due) == (kind, 1000.0)


@pytest.mark.parametrize("trouble", [DEAD, LIMITED], ids=["dead", "error"])
@pytest.mark.parametrize(
    ("message", "append", "session", "how"),
    [
        pytest.param(None, False, True, "resume", id="no message"),
        pytest.param("m", True, True, "resume", id="appended"),
        pytest.param("m", False, True, "fresh", id="replaced"),
        pytest.param(None, False, False, "fresh", id="no message, no session"),
        pytest.param("m", True, False, "fresh", id="appended, no session"),
        pytest.param("m", False, False, "fresh", id="replaced, no session"),
    ],
)
def test_the_decision_matrix(trouble: Trouble, message: str | None, append: bool, session: bool, how: str) -> None:
    action = Action("resume", message, append=append)
    policy = Policy(on_dead=action, on_error=(Rule(None, action),))
    found = decide(policy, trouble._replace(has_session=session), Taken(), none)
    assert found
    assert (found.how, found.message, found.due) == (how, message, 1000.0)


@pytest.mark.parametrize(
    ("status", "how"),
    [
        pytest.param("rate_limited", "resume", id="first"),
        pytest.param("auth_failed", "fail", id="second"),
        pytest.param("network", "escalate", id="any"),
    ],
)
def test_the_first_rule_that_matches_counts(status: Status, how: str) -> None:
    rules = (
        Rule("rate_limited", Action("resume")),
        Rule("auth_failed", Action("fail")),
        Rule(None, Action("escalate")),
        Rule("network", Action("resume")),
    )
    found = decide(Policy(on_error=rules), Trouble("on_error", status, since=0.0), Taken(), none)
    assert found
    assert found.how == how


@pytest.mark.parametrize(
    ("policy", "trouble"),
    [
        pytest.param(Policy(), DEAD, id="nothing at all"),
        pytest.param(Policy(on_idle=Action("nudge")), DEAD, id="another trigger"),
        pytest.param(Policy(on_error=(Rule("network", Action("resume")),)), LIMITED, id="another error"),
        pytest.param(Policy(on_dead=Action("resume")), SILENT, id="silent is not dead"),
        pytest.param(Policy(on_error=(Rule(None, Action("resume")),)), SILENT, id="silence is no error"),
    ],
)
def test_where_the_policy_is_silent_nothing_is_done(policy: Policy, trouble: Trouble) -> None:
    assert decide(policy, trouble, Taken(), none) is None


def test_an_agent_alive_in_an_error_is_nudged() -> None:
    policy = Policy(on_error=(Rule("rate_limited", Action("resume", "go on", append=True)),), on_idle=Action("fail"))
    found = decide(policy, SILENT._replace(status="rate_limited"), Taken(), none)
    assert found
    assert (found.how, found.message) == ("nudge", "go on")


@pytest.mark.parametrize(
    ("attempts", "taken", "how"),
    [
        pytest.param(1, Taken(), "resume", id="first of one"),
        pytest.param(1, Taken("on_dead", 1), "escalate", id="second of one"),
        pytest.param(3, Taken("on_dead", 2), "resume", id="third of three"),
        pytest.param(3, Taken("on_dead", 3), "escalate", id="fourth of three"),
        pytest.param(None, Taken("on_dead", 999), "resume", id="for ever"),
        pytest.param(1, Taken("on_error", 5), "resume", id="another trigger before"),
    ],
)
def test_how_often(attempts: int | None, taken: Taken, how: str) -> None:
    found = decide(Policy(on_dead=Action("resume", attempts=attempts)), DEAD, taken, none)
    assert found
    assert found.how == how


def test_given_up_says_what_was_tried() -> None:
    found = decide(Policy(on_error=(Rule(None, Action("resume", attempts=2)),)), LIMITED, Taken("on_error", 2), none)
    assert found
    assert found.reason == "rate_limited, and resume was tried 2 times"


@pytest.mark.parametrize(
    ("cooldown", "asked", "tried", "seconds"),
    [
        pytest.param(0.0, None, 0, 0.0, id="at once"),
        pytest.param(60.0, None, 0, 60.0, id="cooldown"),
        pytest.param(60.0, None, 2, 240.0, id="doubled twice"),
        pytest.param(0.0, None, 1, 10.0, id="no cooldown, second try"),
        pytest.param(60.0, 90.0, 0, 90.0, id="the engine asks for more"),
        pytest.param(60.0, 30.0, 0, 60.0, id="the engine asks for less"),
        pytest.param(60.0, None, 30, 3600.0, id="an hour at most"),
        pytest.param(7200.0, None, 3, 7200.0, id="unless the person says more"),
    ],
)
def test_when(cooldown: float, asked: float | None, tried: int, seconds: float) -> None:
    policy = Policy(on_error=(Rule(None, Action("resume", attempts=None, cooldown=cooldown)),))
    trouble = LIMITED._replace(retry_after=asked)
    found = decide(policy, trouble, Taken("on_error", tried), none)
    later = decide(policy, trouble, Taken("on_error", tried), lambda: 1.0)
    assert found
    assert later
    assert found.due == 1000.0 + seconds
    assert later.due == pytest.approx(1000.0 + seconds * (1 + JITTER))


def test_a_gate_leads_on_by_the_same_matrix() -> None:
    gate = Action("gate", run=("true",))
    found = decide(Policy(on_dead=gate), DEAD._replace(has_session=False), Taken(), none)
    assert found
    assert (found.how, found.then) == ("gate", "fresh")
