"""What looks like a secret in text that is about to go to a model. Pure."""

from __future__ import annotations

import re

MARK = "[redacted]"
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:sk|pk|rk|gsk|xai|hf|npm|gh[opsur]|github_pat|glpat|xox[a-z]|ya29)[-_.][-_.A-Za-z0-9]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[-_A-Za-z0-9]{35}|\beyJ[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]*"
)
_KEY_BODY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


def redacted(text: str) -> str:
    """The text with each secret replaced by a mark."""
    return _SECRET.sub(MARK, _KEY_BODY.sub(MARK, text))
