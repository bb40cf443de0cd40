"""What of a run's launch args may leave the machine in a note: known flags, and plain values that name no secret.

Secrets have too many shapes to be looked for. So nothing is shown but what the engine's own option table knows: the
names of its flags, and of their values only models that are single plain words, and of permissions the names of tools
and the words that engines offer.
"""

from __future__ import annotations

import re

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines import load
from git_agent_runner.engines.arguments import Word, parse
from git_agent_runner.engines.spec import Option

MARK = "[redacted]"
_PLAIN = re.compile(r"[A-Za-z0-9_.,:*()/-]{1,64}", re.ASCII)
_KEY = re.compile(
    r"(?:sk|pk|rk|gsk|xai|hf|npm|gh[opsur]|github_pat|glpat|xox[a-z]|AKIA|ASIA|AIza|eyJ|ya29)[-_.A-Za-z0-9]{12}"
)
# The values that engines offer for their permissions. A tool's pattern, a profile's name, a URL are the person's own.
_CHOICES = frozenset(
    [
        "read-only",
        "workspace-write",
        "danger-full-access",
        "untrusted",
        "on-failure",
        "on-request",
        "never",
        "default",
        "acceptEdits",
        "plan",
        "bypassPermissions",
        "dontAsk",
        "auto",
        "manual",
        "delegate",
        "auto_edit",
        "auto-edit",
        "yolo",
        "interactive",
        "autopilot",
        "true",
        "false",
        "on",
        "off",
        "all",
        "none",
    ]
)
_OF_TOOLS = re.compile(r"(?i)tool|server-names")
_TOOL = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63})(\(\))?", re.ASCII)


def fit(record: Record) -> Record:
    """The record as a note may hold it."""
    try:
        options = load(record.agent_name).options
    except UserError:  # a profile of the person's own that is gone by now
        options = ()
    return record._replace(launch_args=args(options, record.launch_args))


def args(options: tuple[Option, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """Launch args with every value hidden that is not known to be harmless: `-c`, settings, prompts, paths, headers."""
    try:
        found = parse(options, words)
    except UserError:  # a flag without its value, in a record that a person has edited
        return (MARK,)
    return tuple(shown for word in found for shown in _shown(word))


def _shown(word: Word) -> tuple[str, ...]:
    if word.option is None:
        return (MARK,)
    if not word.values:
        return word.words
    if word.option.role == "permission":
        return _written(word, [_permission(word.name, value) for value in word.values])
    if word.option.role == "model" and all(map(_harmless, word.values)):
        return word.words
    return _written(word, [MARK])


def _written(word: Word, values: list[str]) -> tuple[str, ...]:
    if "=" in word.words[0]:
        return tuple(f"{word.name}={value}" for value in values)
    return (word.name, *values)


def _permission(name: str, value: str) -> str:
    """Of tools their names, without what they may be used with (`Bash(mysql:…)`); else only the engine's own words."""
    if value in _CHOICES:
        return value
    bare = value
    while len(bare) < 1000 and (less := re.sub(r"\([^()]*\)", "\0", bare)) != bare:
        bare = less
    words = [_TOOL.fullmatch(text) for text in re.split(r"[,\s]+", bare.replace("\0", "()"))]
    if not _OF_TOOLS.search(name) or not all(words) or _KEY.search(bare):
        return MARK
    return ",".join(word[1] + (f"({MARK})" if word[2] else "") for word in words if word)


def _harmless(value: str) -> bool:
    return bool(_PLAIN.fullmatch(value)) and not _KEY.search(value)
