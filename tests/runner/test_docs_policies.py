"""docs/policies.md says what policies are read as."""

from __future__ import annotations

import pytest

from git_agent_runner.unattended.policies import form
from git_agent_runner.unattended.policies.model import VALID
from support.docs import ROOT, blocks, inline_code, rows, section

TEXT = (ROOT / "docs/policies.md").read_text()


@pytest.mark.parametrize("text", blocks(TEXT, "toml"))
def test_every_example_is_a_policy(text: str) -> None:
    said: list[str] = []
    found = form.read(text, "policies.md", said.append)
    assert (found.origins, said) == (("policies.md",), [])


def test_the_table_of_triggers() -> None:
    shown = {row[0].strip("`"): tuple(inline_code(row[2])) for row in rows(section(TEXT, "When"))}
    assert shown == VALID


def test_the_errors_that_a_rule_may_match() -> None:
    words = inline_code(section(TEXT, "When").partition("`match` names the error:")[2].partition(";")[0])
    assert tuple(words) == form.ERRORS


def test_every_action_is_explained() -> None:
    explained = {row[0].strip("`") for row in rows(section(TEXT, "What"))}
    assert {action for actions in VALID.values() for action in actions} <= explained
