"""The command line: parse, call one function, print. The only error boundary is here; decisions are elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from git_agent_runner.errors import BUG, INTERRUPTED, USAGE, UserError
from git_agent_runner.present import fatal

# name -> (module, one line for the overview). Modules are imported when their command is asked for.
COMMANDS = {
    "start": ("start", "Start an agent on this branch"),
    "resume": ("resume", "Go on with this branch's session"),
    "status": ("status", "Show this branch's run"),
    "list": ("list", "List runs, newest first"),
    "show": ("show", "Show one run with its attempts"),
    "extract": ("extract", "Read a recorded transcript"),
    "engines": ("engines", "Show which engines are here and can resume"),
    "init": ("init", "Prepare this repository: notes follow amend and rebase"),
    "doctor": ("doctor", "Say what is wrong in this repository, and mend it"),
}


class Commands(click.Group):
    """Subcommands that are imported only when asked for: start-up is what a person feels."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"git_agent_runner.commands.{COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


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
        status = git_agent.main(arguments, prog_name="git agent", standalone_mode=False)
    except click.UsageError as error:
        return usage(error)
    except click.exceptions.Abort:
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def usage(error: click.UsageError) -> int:
    """Click's complaint in git's manner. A mistyped option never becomes a message, so the way to pass one is shown."""
    where = error.ctx.command_path if error.ctx else "git agent"
    hints = [f"{where} -h shows what it takes"]
    if isinstance(error, click.NoSuchOption) and error.ctx:
        if error.possibilities:
            hints.insert(0, f"did you mean {' or '.join(sorted(error.possibilities))}?")
        text = {"resume": "--message", "start": "--prompt"}.get(error.ctx.command.name or "")
        if text:
            hints.insert(
                0,
                f"a message that begins with a dash: {text}='{error.option_name} …'; engine flags follow --",
            )
    message = error.format_message().rstrip(".")
    fatal(message[:1].lower() + message[1:], tuple(hints))
    return USAGE


def report_bug(error: Exception, arguments: Sequence[str]) -> int:
    """An exception nobody foresaw is a bug of ours: the trace goes to a file, its path to the terminal."""
    import platform
    import tempfile
    import traceback

    # The arguments are left out on purpose: they hold the person's message.
    head = f"git-agent {' '.join(arguments[:1])}\npython {sys.version}\n{platform.platform()}\n\n"
    handle, path = tempfile.mkstemp(prefix="git-agent-bug-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(head + "".join(traceback.format_exception(error)))
    fatal(f"a bug in git-agent: {type(error).__name__}", (f"its trace was saved to {path}; please report it",))
    return BUG


def main(argv: Sequence[str] | None = None) -> int:
    """The program. Exit statuses: the engine's own, or 128 fatal, 129 usage, 130 interrupted, 70 a bug of ours."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = run(arguments)
        sys.stdout.flush()
    except UserError as error:
        fatal(error.message, error.hints)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`git agent list | head`); Python must not complain again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:  # noqa: BLE001  the one boundary: whatever is left is a bug, and says so
        return report_bug(error, arguments)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
