"""What claude says of one thing, for both readings of its output: the general one and the fast one."""

from __future__ import annotations

from git_agent_extractors.model import Event
from git_agent_extractors.profile import FAILED, NO_DATA, made

SYNTHETIC = "<synthetic>"  # the model of an error in the clothes of a message


def tool_result(content: str, is_error: object) -> Event:
    return made(("tool_result", content, "", FAILED if is_error else NO_DATA))


# 1.0.24 says it here alone, later ones in `permission_denials`, too (claude/1.0.24/x01-mutate-default-perm).
ASKED = "Claude requested permissions to "
