"""iFlow CLI: how it is started and resumed, by its documentation and public adapters of 0.5.19; never run by us.

Sources: iflow-ai/iflow-cli#196 and #239, the iflow adapter of chenhg5/cc-connect, a public study of 0.5.19. The
package has left the registry, so nothing here could be tried.
"""

from __future__ import annotations

import re

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import find, passed
from git_agent_runner.engines.iflow import store
from git_agent_runner.engines.spec import Engine, KnownBad, Launch, Option, Version, dotted, parse_version

_STUDY = "study of 0.5.19"

_MODES = ("--yolo", "--default", "--plan", "--autoEdit")

OPTIONS = (
    Option(("--model", "-m"), "one", "model", source=_STUDY),
    Option(("--prompt", "-p"), "one", "prompt", source="iflow-ai/iflow-cli#196"),
    Option(("--prompt-interactive", "-i"), "one", "prompt", source=_STUDY),
    Option(("--resume", "-r"), "optional", "selector", source="iflow-ai/iflow-cli#196"),
    Option(("--continue", "-c"), "none", "selector", source=_STUDY),
    # The same facts that end on stderr, in their own file: the extractor reads stderr.
    Option(("--output-file", "-o"), "one", "format", source=_STUDY),
    Option(("--yolo", "-y"), "none", "permission", widens=True, excludes=_MODES, source=_STUDY),
    Option(("--default",), "none", "permission", widens=True, excludes=_MODES, source=_STUDY),
    Option(("--plan",), "none", "permission", widens=True, excludes=_MODES, source=_STUDY),
    Option(("--autoEdit",), "none", "permission", widens=True, excludes=_MODES, source=_STUDY),
    Option(("--version", "-v"), "none", "exit", source=_STUDY),
    Option(("--help", "-h"), "none", "exit", source=_STUDY),
)

ID_PATTERN = re.compile(r"session-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def _start(launch: Launch) -> Invocation:
    return _invocation(launch, ())


def _resume(launch: Launch) -> Invocation:
    """Raises UserError for a value of another shape: iflow would open a picker and wait for a key."""
    if not launch.session or not ID_PATTERN.fullmatch(launch.session):
        raise UserError(
            f"iflow cannot resume {launch.session!r}: its session ids are 'session-' and a lower-case UUID",
            code="session_malformed",
        )
    return _invocation(launch, ("-r", launch.session))


def _invocation(launch: Launch, selector: tuple[str, ...]) -> Invocation:
    """A message by `-p`, as every public adapter gives it, unless it could pass for a flag; stdin is /dev/null."""
    message = launch.message
    flags = passed(OPTIONS, launch.args)
    if message is None:
        return Invocation((launch.binary, *selector, *flags), None, launch.cwd)
    name = "prompt-interactive" if launch.interactive else "prompt"
    if launch.interactive or message.startswith("-"):
        prompt: tuple[str, ...] = (f"--{name}={message}",)
    else:
        prompt = ("-p", message)
    return Invocation((launch.binary, *selector, *flags, *prompt), None, launch.cwd)


def _launch_note(version: Version, args: tuple[str, ...]) -> str | None:
    if find(OPTIONS, args, "permission"):
        return None
    return f"iflow {dotted(version)} runs every tool without asking unless it is given --default, --plan or --autoEdit"


ENGINE = Engine(
    name="iflow",
    field="session-id",
    binary="iflow",
    install="npm install -g @iflow-ai/iflow-cli",
    id_pattern=ID_PATTERN,
    options=OPTIONS,
    first_resume=(0,),
    bad=(KnownBad("'-r ID -p MESSAGE' opens the terminal form and waits (iflow-ai/iflow-cli#196)", until=(0, 5, 19)),),
    interactive="not verified",
    start=_start,
    resume=_resume,
    continue_=lambda launch: _invocation(launch, ("-c",)),
    # No text is known to be swallowed.
    check_message=lambda _version, _message: None,
    mint=lambda _version: None,
    forks=lambda _version, _args: False,
    # Sessions are kept in a folder for each working directory.
    elsewhere=lambda _version, _same_repository: False,
    locate=store.locate,
    store=store.store,
    turns=store.turns,
    ended=None,
    created_since=store.created_since,
    first_reply_lost=lambda _version: None,
    parse_version=parse_version,
    elsewhere_note=lambda _version: None,
    launch_note=_launch_note,
    stored=store.stored,
    root=store.root,
    owns=store.owns,
)
