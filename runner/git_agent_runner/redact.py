"""Taking secrets out of words before they leave the machine. It errs on the side of hiding."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[redacted]"

_NAME = r"(?:api[-_]?key|access[-_]?key|private[-_]?key|token|secret|passw(?:or)?d|credential|authorization|bearer)s?"
_SECRET_NAME = re.compile(rf"(?i){_NAME}$")  # at the end: --auth-type, token_limit and key_file name no secret
_INNER = re.compile(rf"""(?i)({_NAME}["']?\s*[=:]\s*["']?)(?!\d+\b)[^\s"',;}}]+""")  # {"apiKey": "…"}, -H "X-Token: …"
_SHAPES = re.compile(
    r"""(?x)
    \b(?: sk|pk|rk )[-_][A-Za-z0-9_-]{16,}       # model providers, payment
    | \b(?: gh[opsur]_|github_pat_|glpat- )[A-Za-z0-9_-]{16,}
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}
    | \b(?: AKIA|ASIA )[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bhf_[A-Za-z0-9]{20,}
    | \bnpm_[A-Za-z0-9]{30,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*
    | (?i:\bbearer)\s+[A-Za-z0-9._~+/=-]{8,}
    | (?<=://)[^\s/@:]+:[^\s/@]+(?=@)            # user:password of an address
    | \b(?=[A-Za-z0-9]*[a-z])(?=[A-Za-z0-9]*[A-Z])(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{40,}\b
    """
)


def text(words: str) -> str:
    """The text with everything replaced by the mark that is named a secret or has the shape of one."""
    return _INNER.sub(rf"\1{MARK}", _SHAPES.sub(MARK, words))


def args(words: Iterable[str]) -> tuple[str, ...]:
    """Launch args with secret values replaced: `--api-key X`, `--token=X`, `-c env.API_KEY=X`, and key shapes.

    A number stays: `--max-tokens 4096` is no secret.
    """
    clean = []
    named = False
    for word in words:
        name, equals, _ = word.partition("=")
        hidden = named and not word.startswith("-") and not word.isdecimal()
        clean.append(MARK if hidden else text(word))
        named = word.startswith("-") and not equals and bool(_SECRET_NAME.search(name))
    return tuple(clean)
