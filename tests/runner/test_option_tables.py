"""Every row of every option table, as it was read in helps and recordings: a change of one shows here. Faults E.

After a change that has its source run this file with `--snapshot-update`, and read the difference.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.spec import Option


def row(option: Option) -> str:
    facts = [" ".join(option.names), option.value, option.role]
    facts += [
        f"{name} {'.'.join(map(str, at))}" for name in ("since", "until", "after") if (at := getattr(option, name))
    ]
    facts += [name for name in ("widens", "repeats") if getattr(option, name)]
    facts += [f"excludes {' '.join(option.excludes)}"] if option.excludes else []
    return ", ".join(facts)


@pytest.mark.parametrize("name", MODULES)
def test_the_option_table(name: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(map(row, load(name).options)) == snapshot
