"""`git-agent-run` and `git agent hook`: start an agent from a hook of git, with a prompt of the team's.

What git is doing is reported to the agent as text. Where it works, `starting` decides. An agent that moves HEAD or
stages something while git is at a commit has taken part in that commit: it fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import click

from git_agent_hooks import merging
from git_agent_hooks.above import command_lines
from git_agent_hooks.fired import Fired, by_manager
from git_agent_hooks.merging import MERGED, Heir
from git_agent_hooks.message import Style, propose, wanted
from git_agent_hooks.quiet import why_not
from git_agent_hooks.staged import committing, held
from git_agent_hooks.starting import Order, start
from git_agent_hooks.told import plain, told
from git_agent_runner.cli import main as git_agent
from git_agent_runner.console.aloud import say
from git_agent_runner.console.boundary import save_trace
from git_agent_runner.console.parse import duration_of, read_message
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.model import Repository
from git_agent_runner.git import discover

FC = TypeVar("FC", bound=Callable[..., Any])


class Meddled(UserError):  # noqa: N818  reads as what it says
    """The agent changed what git is committing: the hook fails, whatever its arguments are."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the agent {what} while git was at a commit: look at it, and commit again", code="meddled")


class HookRequest(NamedTuple):
    """What the team asks for, as the options of the hook."""

    prompt: str | None
    prompt_file: str | None
    engine: str | None
    resume: bool
    timeout: str | None
    on_failure: str | None
    propose: bool = False
    whose: str | None = None
    branches: tuple[str, ...] = ()


def asking(function: FC) -> FC:
    """The options of `HookRequest`, for `git-agent-run` and `git agent hook`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS = (
    click.option("--prompt", metavar="TEXT", help="What the agent is asked."),
    click.option("--prompt-file", metavar="FILE", help="Read it from FILE."),
    click.option("-e", "--engine", metavar="ENGINE", help="The engine (default: agent.engine)."),
    click.option("--resume", is_flag=True, help="Continue this branch's session, where there is one."),
    click.option("--timeout", metavar="TIME", help="End the engine after this time: 600, 90s, 10m, 2h."),
    click.option(
        "--on-failure", type=click.Choice(["pass", "fail"]), help="Whether a failed run fails the hook (default: pass)."
    ),
    click.option("--whose", type=click.Choice(["current", MERGED]), help="At post-merge: which session. current."),
    click.option("--branches", multiple=True, metavar="GLOB", help="At post-merge: of these branches only."),
    click.option("--propose", is_flag=True, help="At prepare-commit-msg: let the agent propose the message."),
)


def run(words: Sequence[str]) -> int:
    """The hook's exit status: 0 whatever the run's outcome, unless `--on-failure fail` is given."""
    try:
        with command.make_context("git-agent-run", list(words)) as ctx:
            status: int = command.invoke(ctx)
    except click.exceptions.Exit as done:  # after --help
        return done.exit_code
    except click.UsageError as error:
        say(f"git-agent-run: {error.message}")
        return int("--on-failure=fail" in words or ("--on-failure", "fail") in pairwise(words))
    return status


@click.command()
@asking
@click.argument("files", nargs=-1)
def command(files: tuple[str, ...], **asked: Any) -> int:
    """Start an agent from a hook of git. FILES: a commit message's, or those to tell instead of the staged ones."""
    return at(by_manager(files, os.environ, command_lines()), HookRequest(**asked))


def at(fired: Fired, asked: HookRequest) -> int:
    """Start an agent, unless there is a reason not to, which is one line; the hook's exit status."""
    try:
        status = _start(fired, asked)
    except Meddled as error:
        say(error.message)
        return 1
    except UserError as error:
        say(f"no agent ran: {error.message}")
        status = 1
    except Exception as error:  # noqa: BLE001  a bug of ours must not end the person's git command
        say(f"no agent ran: a bug in git-agent; {save_trace(error, (fired.hook,))}")
        status = 1
    return status if asked.on_failure == "fail" else 0


def _start(fired: Fired, asked: HookRequest) -> int:
    prompt = read_message(None, asked.prompt, asked.prompt_file, ("--prompt", "--prompt-file"))
    if asked.propose and (asked.resume or fired.hook != "prepare-commit-msg"):
        raise UsageError("--propose is for prepare-commit-msg, without --resume")
    if (asked.whose or asked.branches) and not (asked.resume and fired.hook == "post-merge"):
        raise UsageError("--whose and --branches are for post-merge, with --resume")
    if prompt is None and not asked.propose:
        raise UsageError("give --prompt TEXT or --prompt-file FILE in its args")
    if asked.propose and not wanted(fired):
        return 0
    repo = discover(os.getcwd(), fired.environ)
    why = inside(fired.environ) or why_not(repo, fired)
    merged = asked.resume and fired.hook == "post-merge" and not why
    heir = merging.heir(repo, fired, asked.whose, asked.branches) if merged else None
    if why := why or (heir and heir.why):
        say(f"no agent ran: {why}")
        return 0
    before = held(fired.environ) if committing(fired) else None
    status = _begun(repo, fired, asked, prompt or "", heir)
    if before and before != (after := held(fired.environ)):
        raise Meddled("moved HEAD" if before.head != after.head else "changed what is staged")
    return status


def _begun(repo: Repository, fired: Fired, asked: HookRequest, prompt: str, heir: Heir | None) -> int:
    timeout = duration_of(asked.timeout)
    if asked.propose:
        return propose(fired, Style(prompt, asked.engine, timeout))
    message = f"{prompt.rstrip()}\n\n{plain(told(repo, fired))}".rstrip()
    order = Order(message, asked.engine, timeout, asked.on_failure == "fail")
    resume = partial(git_agent, _resuming(message, asked)) if asked.resume else None
    if heir and heir.record:
        resume = partial(merging.go_on, heir, message, asked.engine, timeout)
    return start(fired, order, resume)


def _resuming(message: str, asked: HookRequest) -> list[str]:
    words = ["start", "--resume", f"--prompt={message}"]
    words += [f"--engine={asked.engine}"] if asked.engine else []
    return [*words, *([f"--timeout={asked.timeout}"] if asked.timeout else [])]


def inside(environ: Mapping[str, str]) -> str | None:
    """Raises UserError if the run that the environment names does not exist."""
    handle = environ.get("GIT_AGENT_HANDLE")
    if handle and not os.path.isdir(environ.get("GIT_AGENT_RUN_DIR", "")):
        raise UserError(f"GIT_AGENT_HANDLE is {handle}, which is not a run: unset it", code="no_run")
    return f"this is inside run {handle}" if handle else None
