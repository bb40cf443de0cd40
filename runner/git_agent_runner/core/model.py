"""The vocabulary of the program: records that travel one way from the command line to the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from git_agent_extractors.model import NO_SESSION, Session, Status

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

Resumed = Literal["yes", "as_new", "forked", "unverified"]
State = Literal["running", "waiting", "dead", "finished"]
Role = Literal["work", "review", "fix", "hook", "message"]
AgentMode = Literal["read", "edit", "full"]  # what an agent may do, in one word

SCHEMA = 1


class Store(NamedTuple):
    """Where an engine keeps its sessions: `root`, a real path, and the environment variable that named it; None where
    it is the engine's own place in the person's home.
    """

    root: str
    variable: str | None = None


class Earlier(NamedTuple):
    """A session that a run had in another engine, before it was handed over."""

    agent_name: str
    session: Session
    launch_args: tuple[str, ...] = ()


class Record(NamedTuple):
    """One run, as the index keeps it. Times are ISO 8601 UTC with a trailing Z and milliseconds.

    `run_directory` is relative to the common git directory (`agent/runs/<run id>`), so that a repository that is
    moved keeps its runs. `branch` is the short name, None on a detached HEAD; `start_commit` None on an unborn
    branch. `worktree_id` names the work tree as `trees` does, `common_dir_id` the repository as `moved` does.
    `attempts` counts engine processes, the running one included. `store` is where the session is. `earlier` are the
    sessions from before it was handed over, oldest first; `forked_from` is the handle of the run that it is a fork of.
    Only a run whose `role` is work can be a branch's: one that looks at a change, makes a check pass, or was started by
    a hook is found by its handle alone.
    """

    handle: str
    run_id: str
    run_directory: str
    agent_name: str
    session: Session = NO_SESSION
    launch_args: tuple[str, ...] = ()
    updated_at: str = ""
    branch: str | None = None
    worktree: str = ""
    worktree_id: str = ""
    cwd: str = ""
    common_dir: str = ""
    common_dir_id: str = ""
    start_commit: str | None = None
    status: Status | None = None
    attempts: int = 0
    created_at: str = ""
    host: str = ""
    engine_version: str = ""
    parent_session: str | None = None
    schema: int = SCHEMA
    store: Store | None = None
    role: Role = "work"
    earlier: tuple[Earlier, ...] = ()
    forked_from: str | None = None


class Attempt(NamedTuple):
    """One engine process of a run: attempt.yaml. It carries all that is needed to rebuild the record.

    `exit_status` is the engine's own, negative for a signal, None while it runs or when it was never spawned
    (`error` then says why). `pid`, `process_started` (seconds since the epoch) and `boot_id`, the boot that they are
    of where the platform names it, are the engine's process. `store` is the one that it used.
    `candidates` are the sessions, two or more, any of which may be the one that a new attempt began. `replaces` is the
    run that the branch had before.
    """

    number: int
    kind: Literal["start", "resume", "continue", "fresh", "adopt", "fork"]
    run_id: str
    agent_name: str
    branch: str | None
    worktree: str
    cwd: str
    start_commit: str | None
    argv: tuple[str, ...]
    launch_args: tuple[str, ...]
    message: str | None
    engine_version: str
    host: str
    started_at: str
    created_at: str
    interactive: bool = False
    ended_at: str | None = None
    pid: int | None = None
    process_started: float | None = None
    exit_status: int | None = None
    error: str | None = None
    status: Status | None = None
    resumed: Resumed | None = None
    session: Session = NO_SESSION
    session_from: str | None = None
    requested_session: str | None = None
    reported_session: str | None = None
    parent_session: str | None = None
    head_before: str | None = None
    head_after: str | None = None
    dirty: bool | None = None
    survivors: tuple[str, ...] = ()
    schema: int = SCHEMA
    candidates: tuple[str, ...] = ()
    boot_id: str | None = None
    replaces: str | None = None
    worktree_id: str = ""
    common_dir: str = ""
    common_dir_id: str = ""
    store: Store | None = None
    role: Role = "work"
    forked_from: str | None = None


class Repository(NamedTuple):
    """Facts of the repository a command runs in, asked of git once. Paths are absolute and real.

    `top` is the work tree's root. `branch` is the short name of the branch checked out here (also when unborn),
    None when HEAD is detached. `head` is the commit's full object name, None when unborn. `learned`: of many questions
    in a row, between which nothing changes, the answers that serve more than one of them.
    """

    top: str
    git_dir: str
    common_dir: str
    branch: str | None
    head: str | None
    learned: dict[object, Any] | None = None

    def once(self, what: str, ask: Callable[[Repository], T]) -> T:
        """The result of `ask`; computed once where many questions come in a row."""
        if self.learned is None:
            return ask(self)
        if what not in self.learned:
            self.learned[what] = ask(self)
        found: T = self.learned[what]
        return found


class Note(NamedTuple):
    """One line of a git note: a run as another clone may have written it. Hostile until checked."""

    handle: str
    run_id: str
    agent_name: str
    session: Session
    branch: str | None
    launch_args: tuple[str, ...]
    updated_at: str
    host: str
    schema: int
    commit: str = ""
    extra: dict[str, Any] = {}  # noqa: RUF012  keys of a newer schema, kept; never mutated


class Settings(NamedTuple):
    """`agent.*` from git config. An origin inside a work tree is refused when read."""

    engine: str | None = None
    fallback: str | None = None
    continue_message: str = "Continue from where you left off."
    default_directory: str | None = None
    stall_after: float = 300.0
    binaries: dict[str, str] = {}  # noqa: RUF012  engine -> path; built once, never mutated
    args: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  engine -> launch args; built once, never mutated
    modes: dict[str, str] = {}  # noqa: RUF012  engine (empty: all others) -> mode; built once, never mutated
    handover_tokens: dict[str, int] = {}  # noqa: RUF012  engine -> most that it is handed; built once, never mutated
    hints: bool = True  # may hooks speak?
    trailer: bool = False  # do commits of a run name it?
    fix_link: tuple[str, ...] = ()  # ignored files that an agent's work tree gets as links
    terminal: str | None = None  # where --terminal opens windows, one of settings.TERMINALS
    review_trust: bool = False  # do verdicts in notes count, whoever wrote them?
    share: Literal["links", "sessions"] = "links"  # what push shares
    trust_from: tuple[str, ...] = ()  # whose signed conversations are taken
    hooks_max_cost: float | None = None  # US dollars a day, for reviews that hooks begin
