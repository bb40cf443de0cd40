"""Policies as people write them: what each means, and the sentence about each mistake."""

from __future__ import annotations

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.unattended.policies import form
from git_agent_runner.unattended.policies.model import Action, Rule

THE_ISSUES_OWN = """
on_dead  = { action = "resume", message = "Continue from where you left off.", append = true, attempts = 2 }
on_error = [
  { match = "rate_limited", action = "resume", cooldown = "60s" },
  { match = "auth_failed", action = "fail" },
]
"""


def silent(text: str) -> None:
    raise AssertionError(text)


def test_the_example() -> None:
    found = form.read(THE_ISSUES_OWN, "policies.toml", silent)
    assert found.on_dead == Action("resume", "Continue from where you left off.", append=True, attempts=2)
    assert found.on_error == (
        Rule("rate_limited", Action("resume", cooldown=60.0)),
        Rule("auth_failed", Action("fail")),
    )
    assert found.on_idle is None
    assert found.origins == ("policies.toml",)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        pytest.param('on_dead = "resume"', Action("resume"), id="a word"),
        pytest.param('on_dead = { action = "resume" }', Action("resume"), id="a table"),
        pytest.param('[on_dead]\naction = "fail"', Action("fail"), id="a section"),
        pytest.param(
            'on_dead = { action = "resume", attempts = "forever" }', Action("resume", attempts=None), id="for ever"
        ),
        pytest.param(
            'on_dead = { action = "resume", cooldown = "1.5m" }', Action("resume", cooldown=90.0), id="minutes"
        ),
        pytest.param('on_dead = { action = "resume", cooldown = "250ms" }', Action("resume", cooldown=0.25), id="ms"),
        pytest.param(
            'on_dead = { action = "gate", run = ["make", "-s"] }', Action("gate", run=("make", "-s")), id="gate"
        ),
        pytest.param('on_dead = { action = "escalate", run = ["x"] }', Action("escalate", run=("x",)), id="escalate"),
    ],
)
def test_what_one_action_means(text: str, action: Action) -> None:
    assert form.read(text, "p", silent).on_dead == action


def test_recover_is_an_old_name_of_resume() -> None:
    said: list[str] = []
    found = form.read('on_dead = { action = "recover", attempts = 3 }', "policies.toml", said.append)
    assert found.on_dead == Action("resume", attempts=3)
    assert said == ["policies.toml: on_dead: `recover` is now called `resume`"]


def test_idle_is_nudged_by_default() -> None:
    assert form.read("on_idle = {}", "p", silent).on_idle == Action("nudge", append=True)


def test_one_error_rule_needs_no_list() -> None:
    assert form.read('on_error = "escalate"', "p", silent).on_error == (Rule(None, Action("escalate")),)


@pytest.mark.parametrize("trigger", ["on_dead", "on_error", "on_idle"])
@pytest.mark.parametrize("kind", ["nudge", "done", "fail", "resume", "escalate", "gate"])
def test_which_action_makes_sense_when(trigger: str, kind: str) -> None:
    """The table of the issue, written out."""
    sense = {
        "on_error": {"fail", "resume", "escalate", "gate"},
        "on_dead": {"done", "fail", "resume", "escalate", "gate"},
        "on_idle": {"nudge", "done", "fail", "escalate", "gate"},
    }
    run = ', run = ["true"]' if kind == "gate" else ""
    text = f'{trigger} = {{ action = "{kind}"{run} }}'
    if kind in sense[trigger]:
        assert form.read(text, "p", silent) != form.read("", "p", silent)
    else:
        with pytest.raises(UserError) as caught:
            form.read(text, "p", silent)
        assert caught.value.code == "policy_invalid"
        assert f"not '{kind}' (" in caught.value.message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("on_dead = ", "valid TOML", id="no TOML"),
        pytest.param("on_death = 1", "on_death: expected one of the keys on_dead, on_error, on_idle", id="trigger"),
        pytest.param("on_dead = 1", "on_dead: expected an action's name or a table", id="number"),
        pytest.param("on_dead = {}", "on_dead.action: expected one of done, fail", id="no action"),
        pytest.param('on_dead = "sleep"', "resume, escalate, gate, not 'sleep'", id="unknown action"),
        pytest.param('on_dead = { action = "fail", tries = 1 }', "on_dead.tries: expected one of the keys", id="key"),
        pytest.param('on_dead = { action = "resume", message = " " }', "on_dead.message: expected a text", id="blank"),
        pytest.param('on_dead = { action = "resume", message = "a\\u0000" }', "on_dead.message", id="NUL"),
        pytest.param(
            'on_dead = { action = "resume", append = true }', "on_dead.message: expected the message", id="append"
        ),
        pytest.param('on_dead = { action = "resume", attempts = 0 }', "on_dead.attempts", id="no attempts"),
        pytest.param('on_dead = { action = "resume", attempts = true }', "on_dead.attempts", id="attempts a flag"),
        pytest.param('on_dead = { action = "resume", cooldown = 60 }', "on_dead.cooldown", id="no unit"),
        pytest.param('on_dead = { action = "resume", cooldown = "-1s" }', "on_dead.cooldown", id="negative"),
        pytest.param('on_dead = { action = "gate" }', "on_dead.run: expected the command of the gate", id="no command"),
        pytest.param(
            'on_dead = { action = "gate", run = "make check" }', "on_dead.run: expected a command", id="shell"
        ),
        pytest.param('on_dead = { action = "resume", run = ["x"] }', "on_dead.run: expected nothing", id="useless run"),
        pytest.param('on_dead = { action = "fail", message = "x" }', "on_dead.message: expected nothing", id="useless"),
        pytest.param('on_error = [ { match = "slow", action = "fail" } ]', "on_error[0].match", id="no status"),
        pytest.param('on_error = [ { match = "completed", action = "fail" } ]', "on_error[0].match", id="no error"),
        pytest.param('on_error = [ "fail", { action = "done" } ]', "on_error[1].action", id="second rule"),
        pytest.param('on_idle = { message = "x", append = false }', "on_idle.append: expected true", id="nudge anew"),
    ],
)
def test_a_mistake_is_named(text: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        form.read(text, "policies.toml", silent)
    assert caught.value.code == "policy_invalid"
    assert caught.value.message.startswith("policies.toml: ")
    assert complaint in caught.value.message


@pytest.mark.parametrize(
    ("value", "action"),
    [
        pytest.param("resume", Action("resume"), id="a word"),
        pytest.param('{ action = "resume", attempts = 2 }', Action("resume", attempts=2), id="a table"),
    ],
)
def test_a_git_setting(value: str, action: Action) -> None:
    assert form.read_setting("on_dead", value, "agent.onDead in '/c'", silent).on_dead == action


def test_a_git_setting_is_one_value() -> None:
    """A line end would let it set the other triggers, too."""
    with pytest.raises(UserError, match="expected a value on one line"):
        form.read_setting("on_dead", '"fail"\non_idle = {}', "agent.onDead", silent)
