"""What of a run's launch args may leave the machine in a note: known flags, and plain values that name no secret.

Secrets have too many shapes to be looked for. So nothing is shown but what the engine's own option table knows: the
names of its flags, and of their values only models and permissions that are single plain words.
"""

from __future__ import annotations

import re

from git_agent_runner.engines.arguments import Word, parse
from git_agent_runner.engines.spec import Option, Role
from git_agent_runner.errors import UserError

MARK = "[redacted]"
SHOWN: frozenset[Role | None] = frozenset({"model", "permission"})
_PLAIN = re.compile(r"[A-Za-z0-9_.,:*()/-]{1,64}", re.ASCII)
_KEY = re.compile(
    r"(?:sk|pk|rk|gsk|xai|hf|npm|gh[opsur]|github_pat|glpat|xox[a-z]|AKIA|ASIA|AIza|eyJ|ya29)[-_.A-Za-z0-9]{12}"
)


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
    if not word.values or (word.option.role in SHOWN and all(map(_harmless, word.values))):
        return word.words
    return (f"{word.name}={MARK}",) if "=" in word.words[0] else (word.name, MARK)


def _harmless(value: str) -> bool:
    return bool(_PLAIN.fullmatch(value)) and not _KEY.search(value)
