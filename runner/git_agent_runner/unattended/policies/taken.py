"""What was done about a run, kept in its run directory, so that a watch that is killed continues where it was.

It is written before each action: what is found there after a crash was done, or was about to be.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from git_agent_runner.core import atomic
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import attempts, document
from git_agent_runner.store.records.document import COUNT, TEXT, CorruptRecord, Field, Shape, one_of, optional
from git_agent_runner.unattended.policies.decide import Taken
from git_agent_runner.unattended.policies.model import Trigger

FILE = "policy.yaml"

End = Literal["done", "failed", "escalated"]


class Kept(NamedTuple):
    """`attempt` is the one that was in trouble, `times` how often in a row something was done for `trigger`; None while
    nothing was the matter with a run that a watch has seen at work.

    `end` says that nothing more is done until another attempt was made, and `reason` why. `stopped` is the attempt that
    a watch ended because it was told to end itself: the run is no less in trouble for that.
    `commit` is the one whose result in the CI was acted on.
    """

    attempt: int
    trigger: Trigger | None
    times: int
    reason: str = ""
    end: End | None = None
    stopped: int | None = None
    commit: str | None = None


_SHAPE = Shape(
    Kept,
    (
        Field("attempt", "attempt", COUNT, required=True),
        Field("trigger", "trigger", optional(one_of(get_args(Trigger))), required=True),
        Field("times", "times", COUNT, required=True),
        Field("reason", "reason", TEXT),
        Field("end", "end", optional(one_of(get_args(End))), required=True),
        Field("stopped", "stopped", optional(COUNT)),
        Field("commit", "commit", optional(TEXT)),
    ),
)


def read(layout: Layout, run_id: str) -> Kept | None:
    """What was kept of the run; None when there is nothing, or nothing that can be read: then it begins again."""
    path = f"{layout.run(run_id)}/{FILE}"
    try:
        return document.parse(_SHAPE, document.read_text(path), path, document.ignore)
    except (FileNotFoundError, CorruptRecord):
        return None


def write(layout: Layout, run_id: str, kept: Kept) -> None:
    """Raises UserError `write_failed`: then nothing must be done, since nobody would know of it."""
    attempts.refuse_links(layout, layout.run(run_id))
    atomic.write(f"{layout.run(run_id)}/{FILE}", document.render(_SHAPE, kept).encode())


def in_a_row(layout: Layout, run_id: str, number: int) -> Taken:
    """What was done for the trouble that ended in this attempt: nothing, where one since then came to a good end."""
    kept = read(layout, run_id)
    if kept is None or any(_completed(layout, run_id, other) for other in range(kept.attempt + 1, number)):
        return Taken()
    return Taken(kept.trigger, kept.times)


def _completed(layout: Layout, run_id: str, number: int) -> bool:
    try:
        return attempts.read(layout, run_id, number).status == "completed"
    except CorruptRecord:
        return False
