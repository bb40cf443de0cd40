"""What OpenCode says of one thing, for both readings of its output: the general one and the fast one."""

from __future__ import annotations

from git_agent_extractors.model import Event
from git_agent_extractors.profile import FAILED, NO_DATA, Events, Object, end, made, numbers, refused, table

# Nobody is there to be asked (1.18.33; 1.2.27), or a rule of the person's own forbids it.
_REJECTED = (
    "The user rejected permission to use this specific tool call",
    "PermissionRejectedError(",
    "The user has specified a rule which prevents you from using this specific tool call",
)
_CACHE = {"cache_read_input_tokens": "read", "cache_creation_input_tokens": "write"}


def tool_use(name: str, words: str, output: str, failed: bool) -> Events:
    told = (
        made(("tool_call", words, name, NO_DATA)),
        made(("tool_result", output, name, FAILED if failed else NO_DATA)),
    )
    return (*told, refused(name, words)) if failed and output.startswith(_REJECTED) else told


def command_failed(exit_status: object) -> bool:
    """A command that exits above 0 is a "completed" tool anyway (opencode/1.18.33/tools)."""
    return isinstance(exit_status, int) and exit_status != 0


def step_finish(reason: str, tokens: Object, part: Object) -> Events:
    """`part` holds the cost."""
    usage = numbers(tokens, {"input_tokens": "input", "output_tokens": "output"})
    usage.update(numbers(part, {"cost_usd": "cost"}))
    # Not part of `input` and `output`; most models have none.
    rest = numbers(tokens, {"reasoning_output_tokens": "reasoning"}) | numbers(table(tokens, "cache"), _CACHE)
    usage.update({name: count for name, count in rest.items() if count})
    if reason in {"tool-calls", "unknown"}:  # the loop continues
        return (Event("usage", data=usage),)
    return (Event("usage", data=usage), end("completed" if reason == "stop" else "failed", name=reason))
