"""The shape an engine fills: an option table, compilers, and what is known of its sessions. No I/O here.

An engine is one module that makes one `Engine` record; `engines/__init__.py` lists them in a literal table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from git_agent_extractors.model import Refusal

from git_agent_runner.core.invocation import Invocation
from git_agent_runner.core.model import AgentMode, Store

Version = tuple[int, ...]

Arity = Literal["none", "one", "optional", "many"]
Role = Literal[
    "plain",  # passed again on resume, no further meaning
    "selector",  # names or picks a session: --resume, --continue, --session-id, --last
    "format",  # output format: ours to choose
    "prompt",  # carries a message: -p TEXT, --prompt
    "attachment",  # a file that belongs to the message it is given with: passed on once, never recorded
    "permission",  # what the agent may do: sandbox, approval, yolo, trust, allowed tools
    "model",
    "store",  # names a store that is not this environment's: --attach URL, --remote
    "directory",  # changes the working directory: resolved into the record's cwd, not passed again
    "no_session",  # leaves no session behind: --ephemeral
    "interactive",  # asks for the terminal form
    "exit",  # prints something and ends: --help, --version, --list-sessions
]


class Option(NamedTuple):
    """One launch flag. `since`/`until` are the first version that has it and the first that rejects it.

    `after` is the first version that accepts it after a `resume` subcommand (codex); None is never. `value` "many"
    is variadic: it eats every following word that is no flag. `repeats` marks one that may be there twice, each with
    a value of its own. `excludes` names others that say the opposite, or that it overrules or is overruled by: given
    again, it takes their place. `widens` marks what a note alone may not ask for.
    """

    names: tuple[str, ...]
    value: Arity = "none"
    role: Role = "plain"
    since: Version | None = None
    until: Version | None = None
    after: Version | None = None
    widens: bool = False
    repeats: bool = False
    excludes: tuple[str, ...] = ()
    source: str = ""  # the recording, help text or issue that proves the row


class Launch(NamedTuple):
    """All a compiler needs; the same launch always gives the same invocation.

    `session` is the id to resume, or on a start the id we minted (None where the engine mints its own).
    `message` is None only in the terminal form. `session_cwd` is the directory the session belongs to.
    """

    binary: str
    version: Version
    args: tuple[str, ...]
    message: str | None
    session: str | None
    cwd: str
    session_cwd: str | None = None
    interactive: bool = False


class Located(NamedTuple):
    """What the engine's own store says of one session. `cwd` is the directory the session belongs to, if told.

    `archived`: a person put it where a resume does not look.
    """

    state: Literal["present", "absent", "unknown"]
    path: str | None = None
    cwd: str | None = None
    detail: str = ""
    archived: bool = False


class Stored(NamedTuple):
    """The files of one session: their names (`a/b.jsonl`) below `root`, an absolute path; none when it has none."""

    root: str
    names: tuple[str, ...]


class Piece(NamedTuple):
    """One file of a session, by its name below the root of `Stored`; of an engine that imports, the document."""

    name: str
    data: bytes


class Turn(NamedTuple):
    """One message of a session. `key` tells it from the others, `prompt` says that it is the person's own; `at` is in
    seconds since the epoch. `text` is what was said, not what tools gave.
    """

    key: str
    prompt: bool
    at: float | None
    text: str = ""


class StoreQuery(NamedTuple):
    """Where to look: the engine's environment, the working directory (absolute), and the engine's version.

    `learned`: of many questions in a row, what one has learned of the store for the next; see `files.once`.
    """

    env: Mapping[str, str]
    cwd: str
    version: Version
    session: str | None = None
    since: float = 0.0  # seconds since the epoch: for `created_since`
    learned: dict[object, Any] | None = None


class KnownBad(NamedTuple):
    """Versions `since` <= v < `until` whose resume by id is broken; `why` is shown to the person."""

    why: str
    since: Version = ()
    until: Version | None = None


class ModeFlags(NamedTuple):
    """The flags that let an agent do what `mode` says, in versions `since` <= v < `until`: the first row that fits.

    read: look, and change nothing. edit: change files of the work tree, and what the engine takes to be as harmless.
    full: everything, without being asked.
    """

    mode: AgentMode
    flags: tuple[str, ...]
    since: Version = ()
    until: Version | None = None


class Allowance(NamedTuple):
    """Flags by which a person allows the agent more: `what` they allow, in words."""

    what: str
    flags: tuple[str, ...]


def _nothing_to_say(*_about: object) -> str | None:
    return None


def _none(*_about: object) -> tuple[()]:
    return ()


def _home(query: StoreQuery) -> str:
    return query.env.get("HOME", "")


class Engine(NamedTuple):
    """One engine. Every function is pure, except those that read: `locate` and `created_since` the engine's files,
    `message_note` the working directory.
    """

    name: str
    field: str
    binary: str
    install: str
    id_pattern: re.Pattern[str]
    options: tuple[Option, ...]
    first_resume: Version
    bad: tuple[KnownBad, ...]
    # May the terminal form be started and resumed? The text is what docs/engines.md says of it.
    interactive: Literal["verified", "not verified"]
    start: Callable[[Launch], Invocation]
    resume: Callable[[Launch], Invocation]
    # "The newest session of this directory", where the engine has such a form.
    continue_: Callable[[Launch], Invocation] | None
    # Raises UserError when this engine version would not take this message as it stands.
    check_message: Callable[[Version, str], None]
    # Does start take a session id that we mint, and what does one look like?
    mint: Callable[[Version], str | None]
    # Does resuming give the conversation a new id, by design of this version?
    forks: Callable[[Version, tuple[str, ...]], bool]
    # Can a session be resumed from a directory that is not its own? The bool: same git repository.
    elsewhere: Callable[[Version, bool], bool]
    locate: Callable[[StoreQuery], Located]
    # The store that this environment names; None where that is not known.
    store: Callable[[StoreQuery], Store | None]
    # The messages of one session file, or of an exported document, in order.
    turns: Callable[[bytes], Iterator[Turn]]
    # Does one of these end with a turn that its engine finished? None where it holds no turn. No function where that
    # is not known.
    ended: Callable[[bytes], bool | None] | None
    # Sessions made for this directory at or after `since`, oldest first.
    created_since: Callable[[StoreQuery], tuple[str, ...]]
    # Is a session killed in its first reply resumable? When not, the reason in words.
    first_reply_lost: Callable[[Version], str | None]
    # The version text that `--version` prints -> Version; None when it is not this engine's.
    parse_version: Callable[[str], Version | None]
    # One line to say before a resume in a directory that is not the session's, or None.
    elsewhere_note: Callable[[Version], str | None]
    # One line to say before an attempt with these launch args, or None.
    launch_note: Callable[[Version, tuple[str, ...]], str | None] = _nothing_to_say
    # One line to say before an attempt whose message the engine will send otherwise than it stands, or None.
    message_note: Callable[[Launch], str | None] = _nothing_to_say
    # The folder that all of its sessions lie below: another one is another store, whoever's.
    root: Callable[[StoreQuery], str] = _home
    # Can a session be resumed without a terminal?
    headless: bool = True
    # Who has the session open now, by signs of life of the engine's own; None where there are none.
    writer: Callable[[StoreQuery], str | None] = _nothing_to_say
    # The engine's own list of sessions, on a terminal.
    picker: Callable[[Launch], Invocation] | None = None
    # How a person logs in to it, as the end of a sentence.
    login: str | None = None
    # The flag by which a person trusts the directory, where the engine ends for want of it. Never added by us.
    trust: str | None = None
    # What a headless attempt with these launch args was not allowed, where no event of its output tells it.
    limits: Callable[[StoreQuery, tuple[str, ...]], tuple[Refusal, ...]] = _none
    # The flags of this version that allow what was refused, the narrower first. Named to the person, never added by us.
    allow: Callable[[Version, tuple[str, ...], tuple[Refusal, ...]], tuple[Allowance, ...]] = _none
    # The flags of each mode; the names of all by which a person chooses what the agent may do, which a mode replaces.
    modes: tuple[ModeFlags, ...] = ()
    choosing: tuple[str, ...] = ()
    # When the engine will delete this session by itself, in seconds since the epoch; None for never, or unknown.
    expires: Callable[[StoreQuery, Located], float | None] | None = None
    # The files of its own session, and the folder below which they belong also when they are not there.
    stored: Callable[[StoreQuery, Located], Stored] | None = None
    # The pieces of that session as they must be to be session `query.session` of the directory `query.cwd`, where it is
    # known. Raises ValueError for pieces that are not its own.
    laid: Callable[[StoreQuery, str, tuple[Piece, ...]], tuple[Piece, ...]] | None = None
    # Where that is not known: is a file of that name, below the root of `stored`, one of the session's?
    owns: Callable[[StoreQuery, str], bool] | None = None
    # Of a store that all sessions share: one session as a document (None: it cannot be had), and how to take it back
    # from a file.
    export: Callable[[StoreQuery], bytes | None] | None = None
    import_: Callable[[Launch, str], Invocation] | None = None
    # May this document be taken back: is it that session's, of that directory, and nothing in it another session's?
    importable: Callable[[StoreQuery, bytes], bool] | None = None


def parse_version(text: str) -> Version | None:
    """The first dotted number in a version text: "codex-cli 0.171.0" is (0, 171, 0)."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found[0].split(".")) if found else None


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def within(version: Version, since: Version | None, until: Version | None) -> bool:
    """Is since <= version < until? None leaves that side open."""
    return (since is None or version >= since) and (until is None or version < until)
