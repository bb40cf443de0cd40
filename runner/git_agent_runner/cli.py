"""The command line: parse, call one function, print. The only error boundary is here; decisions are elsewhere."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

# What imports make lives to the end: to look through it for garbage, now and at the end, is a tenth of a short run.
gc.set_threshold(100_000)

import click  # noqa: E402  after the line above

from git_agent_runner.console.boundary import complain, report_bug  # noqa: E402  as click
from git_agent_runner.console.lines import fatal  # noqa: E402  as click
from git_agent_runner.core.errors import FATAL, INTERRUPTED, UsageError, UserError  # noqa: E402  as click
from git_agent_runner.core.text import shown  # noqa: E402  as click

# name -> one line for the overview; each is a module of `commands`, or of `ELSEWHERE`, imported when it is asked for.
COMMANDS = {
    "start": "Start an agent on this branch",
    "resume": "Continue this branch's session",
    "status": "Show this branch's run",
    "list": "List runs, newest first",
    "show": "Show one run with its attempts",
    "log": "Show a run's messages and tool calls",
    "diff": "Show what a run has committed",
    "stop": "End running agents; their sessions can be resumed",
    "fork": "Continue a copy of a conversation on this branch",
    "adopt": "Import a session the engine already has",
    "extract": "Read a recorded transcript",
    "review": "Have an agent review a change; the exit status is the verdict",
    "reviews": "List the reviews of commits, newest first",
    "fix": "Have an agent make a check pass, in its own work tree",
    "watch": "Resume runs that die or fail, following your policies",
    "allow": "Approve a tracked policies file in its present form",
    "engines": "Show which engines are installed and can resume",
    "init": "Set up this repository: notes follow amend and rebase",
    "doctor": "Find and fix what is wrong in this repository",
    "push": "Share runs with other clones",
    "fetch": "Bring the runs of other clones here",
    "prune": "Remove runs that are old, large or no longer needed",
    "uninstall": "Remove git-agent from this repository",
    "hooks": "Install hooks that keep notes up to date as history changes",
    "hook": "Run git-agent's part of a git hook, or start an agent in it",
    "fixtures": "Record engines and look at recordings",
    "drift": "Compare a new engine version with the last recorded one",
}
# The commands of other packages, which import this one.
ELSEWHERE = {
    "hook": "git_agent_hooks.command_hook",
    "hooks": "git_agent_hooks.command",
    "fixtures": "git_agent_fixtures.command",
    "drift": "git_agent_fixtures.command_drift",
}
_ENGINES = ("--model",)  # every engine takes it: not one of ours mistyped
BROKEN_PIPE = 141  # what a shell says of a process that SIGPIPE ended
# What a write to standard output may fail with; all other files are written with errors of our own.
_OUTPUT = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class Commands(click.Group):
    """Subcommands that are imported only when asked for: start-up is what a person feels."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(ELSEWHERE.get(cmd_name, f"git_agent_runner.commands.{cmd_name}")).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            hints = (*_near(args[0], COMMANDS), "git agent -h lists its arguments")
            raise UsageError(f"no such command '{shown(args[0])}'", hints=hints)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _near(word: str, words: Iterable[str]) -> list[str]:
    """A hint, where one of the words is probably what was meant. The dashes of two options make them no more alike."""
    from difflib import get_close_matches

    bare = {one.lstrip("-"): one for one in words}
    return [f"did you mean {bare[name]}?" for name in get_close_matches(word.lstrip("-"), bare, 1, 0.75)]


def print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value:
        return
    from importlib.metadata import version

    click.echo(f"git-agent {version('git-agent-runner')}")
    ctx.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Manual: git agent --help. More on one command: git agent COMMAND -h.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print the version.",
)
def git_agent() -> None:
    """Run coding agents on git branches, and bring each branch's session back with one line.

    git agent start -e claude "write the parser"; later, on the same branch: git agent resume "now its tests".
    """


def run(arguments: list[str]) -> int:
    """One command, its exit status. `git agent help CMD` is `git agent CMD -h`; bare `git agent` is the help."""
    if not arguments or arguments == ["help"]:
        arguments = ["-h"]
    elif arguments[0] == "help":
        arguments = [*arguments[1:], "-h"]
    try:
        # Not `git_agent.main`: that takes a reader that went away for an ordinary failure.
        with git_agent.make_context("git agent", arguments) as ctx:
            status: int = git_agent.invoke(ctx)
    except click.exceptions.Exit as done:  # after -h and --version
        return done.exit_code
    except click.UsageError as error:
        raise usage(error) from None
    return status


def usage(error: click.UsageError) -> UsageError:
    """Click's complaint in git's manner. A mistyped option never becomes a message, so the way to pass one is shown."""
    help_hint = f"{error.ctx.command_path if error.ctx else 'git agent'} -h lists its arguments"
    if error.ctx and isinstance(error, click.exceptions.NoArgsIsHelpError):
        words = error.ctx.command.commands if isinstance(error.ctx.command, click.Group) else ()
        return UsageError("which one? give a subcommand", hints=(f"one of {', '.join(sorted(words))}", help_hint))
    if not isinstance(error, click.NoSuchOption):
        text = error.format_message().rstrip(".")
        return UsageError(text[:1].lower() + text[1:], hints=(help_hint,))
    name = error.option_name
    option = {"resume": "--message", "start": "--prompt"}.get((error.ctx and error.ctx.info_name) or "")
    hints = (
        *(() if name in _ENGINES else _near(name, error.possibilities or ())),
        *([f"for a message that starts with a dash: {option}='{name} …'; engine flags go after --"] if option else []),
        help_hint,
    )
    return UsageError(f"unknown option '{name}'", hints=hints)


def main(argv: Sequence[str] | None = None) -> int:
    """The program. Exit statuses: the engine's own, or 128 fatal, 129 usage, 130 interrupted, 70 a bug of ours."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        status = _bounded(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`git agent list | head`); Python must not complain again while it shuts down.
        _abandon_stdout()
        return BROKEN_PIPE
    except OSError as error:
        _abandon_stdout()
        fatal(f"cannot write to standard output: {error.strerror}")
        return FATAL
    finally:
        gc.freeze()
    return status


def _bounded(arguments: Sequence[str]) -> int:
    try:
        return run(list(arguments))
    except UserError as error:
        return complain(error, arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the one boundary: whatever is left is a bug, and says so
        if isinstance(error, OSError) and error.errno in _OUTPUT and error.filename is None:
            raise
        return report_bug(error, arguments)


def _abandon_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """A closed descriptor would go to the next file we open, and our words into that file; git guards itself, too.

    Bytes of a path that are no UTF-8 are printed as they are, and what another encoding lacks is escaped.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  as long-lived as we are
            assert getattr(sys, name).fileno() == number
    if isinstance(sys.stdout, io.TextIOWrapper):
        utf8 = sys.stdout.encoding.lower() == "utf-8"
        sys.stdout.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")


if __name__ == "__main__":
    from git_agent_runner.core.utf8 import in_utf8

    in_utf8()
    raise SystemExit(main())
