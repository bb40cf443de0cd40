"""What every engine promises, whatever its command line looks like.

The tests ask it of the engines that are shipped, `git agent engines --check` of those that a person has added. No
engine is started: what is asked are the compilers and the option table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.engines.arguments import launch_args, parse, rejected, widening
from git_agent_runner.engines.spec import Engine, Launch, Option, Version, dotted


class Sample(NamedTuple):
    """A version and a session id of the engine, as it writes them."""

    version: Version
    session: str


Promise = Callable[[Engine, Sample], Iterator[str]]

DROPPED = {"selector", "format", "prompt", "interactive", "directory", "exit"}
ATTACHED = "attachment"
# What could pass for a flag of some engine, or for a word that has a meaning to it.
HOSTILE = ("--yolo", "-", "--", "--resume=x", "- [ ] do the thing", "---\ntitle: x\n---\nbody", "--session other")
# Of no engine's shape; a flag, a path or the newest session to some.
MALFORMED = (None, "", "-", "--last", "../x", "a b", "\x1b[2J")
_NO_FORM = {True: {"interactive_unsupported", "message_refused"}, False: {"resume_unsupported"}}
_TELLING = (
    "dangerous",
    "yolo",
    "sandbox",
    "approv",
    "bypass",
    "--mcp-config",
    "settings",
    "add-dir",
    "allowed",
    "--config",
)
_CWD = "/w"


def broken(engine: Engine, sample: Sample) -> list[tuple[str, str]]:
    """(promise, how it is broken) of every broken one."""
    return [(name, how) for name, promise in PROMISES.items() for how in promise(engine, sample)]


def launch(engine: Engine, sample: Sample, *args: str, message: str | None = "go on", terminal: bool = False) -> Launch:
    return Launch(engine.binary, sample.version, args, message, sample.session, _CWD, _CWD, terminal)


def compiled(engine: Engine, given: Launch) -> Iterator[tuple[str, Invocation]]:
    """("start" or "resume", its invocation); nothing in a form, of a terminal or not, that the engine does not have."""
    fresh = given if engine.mint(given.version) else given._replace(session=None)
    for name, form, asked in (("start", engine.start, fresh), ("resume", engine.resume, given)):
        try:
            yield name, form(asked)
        except UserError as error:
            if error.code not in _NO_FORM[given.interactive]:
                raise


def _forms(engine: Engine, sample: Sample, *args: str, message: str = "go on") -> Iterator[tuple[str, Invocation]]:
    for terminal in (False, True):
        words = "in a terminal" if terminal else "headless"
        for name, invocation in compiled(engine, launch(engine, sample, *args, message=message, terminal=terminal)):
            yield f"{name} {words}", invocation


def _whole(engine: Engine, sample: Sample) -> Iterator[str]:
    if not engine.id_pattern.fullmatch(sample.session):
        yield f"'{sample.session}' does not have the shape {engine.id_pattern.pattern}"
    if engine.parse_version(f"{engine.name} {dotted(sample.version)}") != sample.version:
        yield f"the version is not read from '{engine.name} {dotted(sample.version)}'"
    if engine.first_resume > sample.version:
        yield f"{dotted(sample.version)} cannot resume"


def _carried(engine: Engine, sample: Sample) -> Iterator[str]:
    for message in HOSTILE:
        try:
            engine.check_message(sample.version, message)
        except UserError:
            continue  # refused, which is as good
        for form, invocation in _forms(engine, sample, message=message):
            if how := _lost(invocation, message):
                yield f"{form}, {message!r}: {how}"


def _lost(invocation: Invocation, message: str) -> str | None:
    words, prompt = list(invocation.argv), [""]
    if "--" in words:
        cut = words.index("--")
        words, prompt = words[:cut], words[cut + 1 :]
    joined = [word for word in words if word.startswith("--") and word.endswith(f"={message}")]
    by_stdin = invocation.stdin == message.encode()
    # A `-` of the engine's own says "read stdin": there it is not the message.
    if message in words and not (message == "-" and by_stdin):
        return "it is passed where flags are read"
    times = sum((by_stdin, prompt == [message], len(joined) == 1))
    return None if times == 1 else f"it is passed {times} times"


def _named_once(engine: Engine, sample: Sample) -> Iterator[str]:
    minted = engine.mint(sample.version) is not None
    for form, invocation in _forms(engine, sample):
        count = sum(sample.session in word for word in invocation.argv)
        if count != (1 if form.startswith("resume") else int(minted)):
            yield f"{form}: the session is named {count} times"


def _refused(engine: Engine, sample: Sample) -> Iterator[str]:
    for session in MALFORMED:
        try:
            engine.resume(launch(engine, sample)._replace(session=session))
        except UserError as error:
            if error.code == "session_malformed":
                continue
        yield f"{session!r} is accepted as a session id"


def _passed_again(engine: Engine, sample: Sample) -> Iterator[str]:
    old = [
        word
        for option in engine.options
        if option.role in DROPPED - {"prompt"} and option.value != "many"
        for word in _given(option, option.names[0])
    ]
    prompt = ["--prompt=old message"] if any("--prompt" in option.names for option in engine.options) else []
    for form, invocation in _forms(engine, sample, *old, "--model", "m-5", *prompt, "old words"):
        argv = " ".join(invocation.argv)
        if "--model m-5" not in argv:
            yield f"{form}: '--model m-5' is lost"
        if "VALUE" in argv or "old" in argv or "--help" in invocation.argv:
            yield f"{form}: earlier selectors, formats or messages are passed again"


def _attached(engine: Engine, sample: Sample) -> Iterator[str]:
    for option in engine.options:
        given = _given(option, option.names[0])
        if option.role != ATTACHED or rejected(engine.options, given, sample.version):
            continue
        for form, invocation in compiled(engine, launch(engine, sample, *given)):
            if not any("VALUE" in word for word in invocation.argv):
                yield f"{form}: {option.names[0]} is lost"


def _repeatable(engine: Engine, sample: Sample) -> Iterator[str]:
    if list(_forms(engine, sample)) != list(_forms(engine, sample)):
        yield "the same launch gives another command line"


def _placed(engine: Engine, sample: Sample) -> Iterator[str]:
    for form, invocation in _forms(engine, sample):
        if invocation.cwd != _CWD or invocation.argv[0] != engine.binary:
            yield f"{form}: '{invocation.argv[0]}' is started in '{invocation.cwd}'"
        if invocation.stdin is not None and form.endswith("terminal"):
            yield f"{form}: stdin is the person's"


def _tabled(engine: Engine, _sample: Sample) -> Iterator[str]:
    names = [flag for option in engine.options for flag in option.names]
    yield from (f"{name} is in two rows" for name in sorted(set(names)) if names.count(name) > 1)
    for option in engine.options:
        if option.since and option.until and option.since >= option.until:
            yield f"{option.names[0]} is removed before it was added"
        if not option.source:
            yield f"{option.names[0]} has no source"
        yield from (
            f"{option.names[0]} excludes {name}, which has no row" for name in set(option.excludes) - set(names)
        )


def _kept(engine: Engine, _sample: Sample) -> Iterator[str]:
    for option in engine.options:
        for flag in option.names:
            words = parse(engine.options, launch_args(engine.options, (*_given(option, flag), "--unknown=1")))
            own = words[:-1]
            values = ("VALUE",) if option.value != "none" else ()
            if words[-1].words != ("--unknown=1",) or [word.values for word in own] != [values] * len(own):
                yield f"{flag} swallows what follows it, or loses its value"
            if len(own) != int(option.role not in DROPPED | {ATTACHED}):
                yield f"{flag} is {'kept' if own else 'dropped'}"


def _dated(engine: Engine, _sample: Sample) -> Iterator[str]:
    for option in engine.options:
        given, name = _given(option, option.names[0]), (option.names[0],)
        if option.since and (rejected(engine.options, given, (0,)), rejected(engine.options, given, option.since)) != (
            name,
            (),
        ):
            yield f"{name[0]} is accepted before its 'since'"
        if option.until and rejected(engine.options, given, option.until) != name:
            yield f"{name[0]} is accepted by a version that no longer has it"


def _marked(engine: Engine, _sample: Sample) -> Iterator[str]:
    for option in engine.options:
        for flag in option.names:
            telling = any(word in flag.replace("disallowed", "") for word in _TELLING)
            if option.role not in DROPPED and telling and widening(engine.options, _given(option, flag)) != (flag,):
                yield f"{flag} is not marked as widening"


def _trusted(engine: Engine, _sample: Sample) -> Iterator[str]:
    """It is named to the person, kept when the person gives it, and refused from a stranger's note."""
    words = (engine.trust,) if engine.trust else ()
    if launch_args(engine.options, words) != words or widening(engine.options, words) != words:
        yield f"{engine.trust} is not kept, or not marked as widening"


def _given(option: Option, name: str) -> tuple[str, ...]:
    return (name,) if option.value == "none" else (name, "VALUE")


PROMISES: dict[str, Promise] = {
    "the example fits the engine": _whole,
    "a message is carried once, and never as a flag": _carried,
    "a resume names its session once": _named_once,
    "a malformed session is refused": _refused,
    "flags keep their values, and old selectors, formats and messages are dropped": _passed_again,
    "an attachment goes with its message": _attached,
    "the same launch gives the same command line": _repeatable,
    "the engine's program is started in the run's directory": _placed,
    "flags have one row each, with a source": _tabled,
    "each flag by each name is kept or dropped with its value": _kept,
    "a version without a flag rejects it": _dated,
    "what lets an agent do more is marked": _marked,
    "the flag of trust is marked": _trusted,
}
