"""Refusals: exact words, exit status 129 or 128, and nothing left behind. Help answers for every command."""

from __future__ import annotations

import json

import pytest

from git_agent_runner.cli import COMMANDS
from support.cli import Cli, ask

HELP = "git agent {} -h lists its arguments"
QUOTES = 'a message of several words needs quotes: git agent resume "<message>"'
DASH = "for a message that starts with a dash: {}='{} …'; engine flags go after --"


def heard(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().err.splitlines()


def told(message: str, *hints: str) -> list[str]:
    return [f"fatal: {message}", *(f"hint: {hint}" for hint in hints)]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param(
            ["resume", "--mesage", "x"],
            told(
                "unknown option '--mesage'",
                "did you mean --message?",
                DASH.format("--message", "--mesage"),
                HELP.format("resume"),
            ),
            id="mistyped option of resume",
        ),
        pytest.param(
            ["start", "--promt=fix it"],
            told(
                "unknown option '--promt'",
                "did you mean --prompt?",
                DASH.format("--prompt", "--promt"),
                HELP.format("start"),
            ),
            id="mistyped option of start, blanks in its value",
        ),
        pytest.param(
            ["resume", "-q", "x"],
            told("unknown option '-q'", DASH.format("--message", "-q"), HELP.format("resume")),
            id="a letter of git's that is no option here",
        ),
        pytest.param(
            ["list", "--al"],
            told("unknown option '--al'", "did you mean --all?", HELP.format("list")),
            id="no message there",
        ),
        pytest.param(
            ["lst"],
            told("no such command 'lst'", "did you mean list?", "git agent -h lists its arguments"),
            id="mistyped command",
        ),
        pytest.param(
            ["a\x1bb"],
            told("no such command 'a^[b'", "git agent -h lists its arguments"),
            id="no such command",
        ),
        pytest.param(  # faults B17
            ["raft"], told("no such command 'raft'", "git agent -h lists its arguments"), id="far from drift"
        ),
        pytest.param(["abort"], told("no such command 'abort'", "git agent -h lists its arguments"), id="not start"),
        pytest.param(  # faults B17
            ["start", "--model=x"],
            told("unknown option '--model'", DASH.format("--prompt", "--model"), HELP.format("start")),
            id="an engine's option is not --help",
        ),
        *[
            pytest.param(  # faults F11
                [*words.split(), "x"],
                told(f"{one} and {other} cannot be used together", "give one of them"),
                id=words,
            )
            for words, one, other in [
                ("start --raw --json", "--raw", "--json"),
                ("start --raw -i", "--raw", "-i"),
                ("start --branch main -v", "-v", "--branch"),
                ("start --branch main --raw", "--raw", "--branch"),
                ("start --branches-from f -i", "-i", "--branches-from"),
                ("resume --raw --json", "--raw", "--json"),
                ("resume --terminal --raw", "--raw", "--terminal"),
                ("resume -i --raw", "--raw", "-i"),
            ]
        ],
        pytest.param(
            ["hooks"],
            told(
                "which one? give a subcommand",
                "one of install, print, status, uninstall",
                "git agent hooks -h lists its arguments",
            ),
            id="a group alone",
        ),
        pytest.param(
            ["show", "a", "b"],
            told("got unexpected extra argument (b)", HELP.format("show")),
            id="too many arguments for show",
        ),
        pytest.param(
            ["start", "fix", "it"],
            told("too many arguments: 'it'", "quote the message: 'fix it'"),
            id="start unquoted",
        ),
        pytest.param(
            ["resume", "fix", "it"],
            told("'fix' is not a handle", "`git agent list` shows the handles", QUOTES),
            id="resume unquoted (faults A13)",
        ),
        pytest.param(
            ["resume", "main", "fix it"],
            told("'main' is a branch, not a handle", "to resume its run: git agent resume --branch main 'fix it'"),
            id="a branch for a handle (faults A13)",
        ),
        pytest.param(
            ["resume", "7f3a9c21", "fix", "it"],
            told("too many arguments: 'it'", "quote the message: 'fix it'"),
            id="a handle and an unquoted message (faults A13)",
        ),
        pytest.param(
            ["resume", "--handle", "7f3a9c21", "fix", "it"],
            told("too many arguments: 'it'", "quote the message: 'fix it'"),
            id="handle and unquoted",
        ),
        pytest.param(
            ["start", "x", "--prompt", "y"],
            told("two messages: from the command line and from --prompt", "give one of them"),
            id="two prompts",
        ),
        pytest.param(
            ["resume", "x", "--message-file", "f"],
            told("two messages: from the command line and from --message-file", "give one of them"),
            id="two messages",
        ),
        pytest.param(
            ["start", ""],
            told("the message from the command line is empty", "say what the agent should do"),
            id="empty prompt",
        ),
        pytest.param(
            ["resume", " \n"],
            told("the message from the command line is empty", "say what the agent should do"),
            id="blank message",
        ),
        pytest.param(
            ["start", "caf\udce9"],
            told("the message from the command line is not UTF-8 (byte 4)", "convert it: iconv -t UTF-8"),
            id="bytes",
        ),
        pytest.param(
            ["start"],
            told("no prompt", 'git agent start "<prompt>", or -i for the engine\'s own interface'),
            id="no prompt",
        ),
        pytest.param(
            ["resume"],
            told("no message", 'git agent resume "<message>"', "or -i, on a terminal, to open the session"),
            id="no message off a terminal",
        ),
        pytest.param(
            ["start", "--strict", "x"],
            told("--strict needs --resume", "add --resume, or leave --strict out"),
            id="strict start",
        ),
        pytest.param(
            ["resume", "--strict", "--fallback", "fresh", "x"],
            told("--strict and --fallback fresh cannot be used together", "give one of them"),
            id="strict and lenient",
        ),
        pytest.param(
            ["resume", "--fallback", "sometimes", "x"],
            told(
                "invalid value for '--fallback': 'sometimes' is not one of 'fail', 'continue', 'fresh', 'picker'",
                HELP.format("resume"),
            ),
            id="no such fallback",
        ),
        pytest.param(
            ["resume", "--handle", "7f3a9c21", "--branch", "b", "x"],
            told("a handle and --branch cannot be used together", "give one of them"),
            id="handle and branch",
        ),
        pytest.param(
            ["resume", "7f3a9c21", "--commit", "HEAD", "x"],
            told("a handle and --commit cannot be used together", "give one of them"),
            id="handle and commit",
        ),
        pytest.param(
            ["resume", "--cwd", "gone", "x"],
            told("--cwd: there is no directory 'gone'", "give one that exists"),
            id="no such directory",
        ),
        pytest.param(
            ["resume", "--timeout", "0", "x"],
            told("invalid duration '0'", "write seconds, or 90s, 10m, 2h: --timeout 10m"),
            id="no time",
        ),
        pytest.param(
            ["extract", "emacs", "f"],
            told("unknown engine 'emacs'", "known engines: codex, claude, gemini, opencode, iflow, qwen, copilot"),
            id="engine of extract",
        ),
        pytest.param(
            ["start", "-e", "codex", "x", "--", "word"],
            told(
                "'word' after -- is not a flag of codex",
                "the message goes before --, only the engine's own flags after it",
            ),
            id="stray word",
        ),
        pytest.param(
            ["start", "-e", "codex", "x", "--", "resume", "--last"],
            told(
                "'resume' after -- is not a flag of codex",
                "the message goes before --, only the engine's own flags after it",
            ),
            id="subcommand",
        ),
        pytest.param(
            ["start", "-e", "claude", "x", "--", "--continue"],
            told(
                "--continue after -- cannot be passed on to claude",
                "git agent chooses the session: resume HANDLE, --session VALUE, or start",
            ),
            id="selector",
        ),
        pytest.param(
            ["start", "-e", "claude", "x", "--", "--output-format", "json"],
            told(
                "--output-format after -- cannot be passed on to claude",
                "git agent reads the engine's output, so its format is fixed",
            ),
            id="format",
        ),
        pytest.param(
            ["start", "-e", "gemini", "x", "--", "--prompt=y"],
            told("--prompt after -- cannot be passed on to gemini", "give the message to git agent, before --"),
            id="prompt",
        ),
        pytest.param(
            ["start", "-e", "codex", "x", "--", "--help"],
            told("--help after -- cannot be passed on to codex", "run the engine itself for that"),
            id="help of the engine",
        ),
    ],
)
def test_usage(here: Cli, words: list[str], want: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    before = here.state()
    assert ask(*words) == 129
    assert (heard(capfd), here.state(), here.calls()) == (want, before, [])


@pytest.mark.parametrize(
    ("words", "config", "want"),
    [
        pytest.param(
            ["start", "x"],
            {},
            told(
                "no engine: give one with -e, or set agent.engine",
                "git config --global agent.engine claude",
                "known engines: codex, claude, gemini, opencode, iflow, qwen, copilot",
            ),
            id="engine unset",
        ),
        pytest.param(
            ["start", "-e", "emacs", "x"],
            {},
            told("unknown engine 'emacs'", "known engines: codex, claude, gemini, opencode, iflow, qwen, copilot"),
            id="unknown engine",
        ),
        pytest.param(
            ["start", "x"],
            {"agent.engine": "emacs"},
            told("unknown engine 'emacs'", "known engines: codex, claude, gemini, opencode, iflow, qwen, copilot"),
            id="unknown engine in the configuration",
        ),
        pytest.param(
            ["start", "-i", "-e", "codex"],
            {},
            told("an interactive session needs a terminal on stdin and stdout", "give a message to run without one"),
            id="no terminal",
        ),
        pytest.param(
            ["start", "-e", "claude", "/clear"],
            {},
            told(
                "this message starts with '/clear': claude 2.1.332 takes that as a command of its own",
                "put a space before the slash to send it as text",
            ),
            id="a command of the engine",
        ),
        pytest.param(
            ["start", "-e", "iflow", "x" * 131073],
            {},
            told(
                "the message is too long for this engine's command line (128 KiB at most)",
                "put it into a file and ask the engine to read that",
            ),
            id="too long for argv",
        ),
        pytest.param(["start", "-e", "codex", "x", "--", "-C", "gone"], {}, None, id="a directory that is not there"),
        pytest.param(["start", "-e", "codex", "x", "--", "-C", "/"], {}, None, id="a directory outside"),
        pytest.param(
            ["resume", "0123abcd", "x"],
            {},
            told("no run has the handle '0123abcd'", "`git agent list` shows the runs of this repository"),
            id="unknown handle",
        ),
        pytest.param(["resume", "--commit", "nope", "x"], {}, told("'nope' is not a commit"), id="unknown commit"),
        pytest.param(
            ["start", "-e", "codex", "x"],
            {"agent.codex.args": "fix"},
            told(
                "'fix' in agent.codex.args is not a flag of codex",
                "the message goes before --, only the engine's own flags after it",
            ),
            id="a stray word in the configuration",
        ),
    ],
)
def test_refused(
    here: Cli, words: list[str], config: dict[str, str], want: list[str] | None, capfd: pytest.CaptureFixture[str]
) -> None:
    for key, value in config.items():
        here.repo.git("config", key, value)
    before = here.state()
    assert ask(*words) == (129 if "agent.codex.args" in config else 128)
    lines = heard(capfd)
    assert (lines if want else lines[0].startswith("fatal: "), here.state(), here.calls()) == (want or True, before, [])


def test_a_lone_handle_is_no_message(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    handle = here.begin().handle
    before = here.state()
    assert ask("resume", handle) == 129
    assert heard(capfd) == told(
        f"'{handle}' is a run's handle; a message is missing",
        f'git agent resume {handle} "<message>"',
        f"to send the word itself: --message={handle}",
    )
    assert (here.state(), len(here.calls())) == (before, 1)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["-h"], id="-h"),
        pytest.param(["--help"], id="--help"),
        pytest.param([], id="nothing"),
        pytest.param(["help"], id="help"),
    ],
)
def test_help(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert ask(*words) == 0
    out, err = capfd.readouterr()
    assert (out.splitlines()[0], err) == ("Usage: git agent [OPTIONS] COMMAND [ARGS]...", "")
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []


@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("form", ["{} -h", "help {}", "{} --help"])
def test_help_of_each_command(name: str, form: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert ask(*form.format(name).split()) == 0
    out, err = capfd.readouterr()
    assert (out.split("\n")[0].startswith(f"Usage: git agent {name} [OPTIONS]"), err) == (True, "")


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    assert ask("--version") == 0
    assert capfd.readouterr().out.startswith("git-agent ")


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        pytest.param(["resume", "x", "--json"], 128, "no_run", id="resume"),
        pytest.param(["resume", "--json", "--mesage"], 129, "usage", id="usage"),
        pytest.param(["resume", "--json", " "], 129, "message_empty", id="message"),
        pytest.param(["start", "--json", "x"], 128, "engine_unset", id="start"),
        pytest.param(["status", "--json"], 128, "no_run", id="status"),
        pytest.param(["show", "--json", "0123abcd"], 128, "unknown_handle", id="show"),
    ],
)
def test_errors_in_json(here: Cli, words: list[str], status: int, code: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert ask(*words) == status
    out, err = capfd.readouterr()
    error = json.loads(out)["error"]
    assert (out.count("\n"), error["code"]) == (1, code)
    assert err.splitlines() == told(error["message"], *error["hints"])


def test_json_of_the_engine_is_not_ours(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    assert ask("start", "x", "--", "--json") == 128
    assert capfd.readouterr().out == ""
