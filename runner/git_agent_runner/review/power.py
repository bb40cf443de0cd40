"""How each engine is held to reading: flags and environment that win over what its settings or the repository say.

Only versions that were tried with a model that asks for a write are let in. Tracked settings of agents are not in the
work tree of a review at all: see `place`.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.engines import arguments
from git_agent_runner.engines.spec import Engine, Version, dotted
from git_agent_runner.review.verdict import SCHEMA_TEXT

Env = tuple[tuple[str, str | None], ...]


class Power(NamedTuple):
    """What a review adds to the command line. `file` is a name and a text, to be written to a folder for it, for which
    `{folder}` is in the flags.
    """

    since: Version
    flags: tuple[str, ...]
    env: Env = ()
    file: tuple[str, str] | None = None

    def given(self, folder: str) -> tuple[str, ...]:
        return tuple(flag.replace("{folder}", folder) for flag in self.flags)


# An agent of our own: what the person's settings allow `plan`, or all of them, is not for it (1.18.33).
_READER = json.dumps(
    {
        "agent": {
            "git-agent-review": {
                "mode": "primary",
                "permission": dict.fromkeys(("edit", "bash", "webfetch", "task", "external_directory"), "deny"),
                "tools": dict.fromkeys(("write", "edit", "patch", "bash", "task", "webfetch"), False),
            }
        }
    }
)
# `tools.allowed` of the person's settings overrules the mode (0.61.0), and nothing overrules an administrator's policy.
_POLICY = """[[rule]]
toolName = "*"
decision = "deny"
priority = 900

[[rule]]
toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]
decision = "allow"
priority = 950
"""
POWERS: dict[str, Power] = {
    # The settings of the project are its own: they may hold hooks, which run commands.
    "claude": Power(
        (2, 1, 76),
        (
            *("--tools", "Read,Grep,Glob", "--permission-mode", "default", "--setting-sources", "user"),
            *("--strict-mcp-config", "--json-schema", SCHEMA_TEXT),
        ),
    ),
    "codex": Power(
        (0, 65, 0),
        ("--sandbox", "read-only", "--output-schema", "{folder}/schema.json"),
        file=("schema.json", SCHEMA_TEXT),
    ),
    "gemini": Power(
        (0, 36, 0),
        ("--approval-mode", "plan", "--admin-policy", "{folder}/policy.toml"),
        file=("policy.toml", _POLICY),
    ),
    "opencode": Power((1, 2, 27), ("--agent", "git-agent-review"), env=(("OPENCODE_CONFIG_CONTENT", _READER),)),
}


def power(engine: Engine, version: Version) -> Power:
    """Raises UserError `no_read_only` where we do not know how to hold this version to reading."""
    known = POWERS.get(engine.name)
    if known is None or version < known.since:
        which = f"{engine.name} {dotted(version)}" if known else engine.name
        names = ", ".join(f"{name} {dotted(one.since)}" for name, one in POWERS.items())
        hint = f"engines that can review, and the first version of each: {names}"
        raise UserError(f"{which} is not known to have a read-only mode", code="no_read_only", hints=(hint,))
    return known


def harmless(engine: Engine, args: tuple[str, ...]) -> tuple[str, ...]:
    """Of configured launch args those that let an agent do no more than it may by itself, and its flag of trust."""
    words = arguments.parse(engine.options, args)
    kept = (word for word in words if word.name == engine.trust or (word.option and not word.option.widens))
    return tuple(text for word in kept for text in word.words)


def refuse_widening(engine: Engine, given: tuple[str, ...]) -> None:
    """Raises UsageError: a reviewer reads, whatever is asked for."""
    if given != (left := harmless(engine, given)):
        word = next(word for word in given if word not in left)
        raise UsageError(
            f"'{word}' is not allowed in a review", hints=("a reviewer only reads; flags such as --model are allowed",)
        )
