"""What gemini says of one thing, for both readings of its output: the general one and the fast one."""

from __future__ import annotations

from git_agent_extractors.profile import FAILED, NO_DATA, Events, Object, gist, made, refused


def tool_use(name: str, parameters: Object) -> Events:
    return (made(("tool_call", gist(parameters), name, NO_DATA)),)


def tool_result(status: object, output: str, error: object) -> Events:
    result = made(("tool_result", output, "", FAILED if status == "error" else NO_DATA))
    return (result, refused()) if isinstance(error, dict) and error.get("type") == "policy_violation" else (result,)


# gemini/0.20.2/start-stream-json prints it as if the model had said it.
NOTICE = (
    "The --prompt (-p) flag has been deprecated and will be removed in a future version."
    " Please use a positional argument for your prompt. See gemini --help for more information.\n"
)
