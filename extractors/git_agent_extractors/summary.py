"""Folding an attempt's events into its transcript: the verdict, the answer, the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from git_agent_extractors.model import NO_SESSION, SOURCES, Event, Refusal, Source, Status, Transcript
from git_agent_extractors.profile import Profile
from git_agent_extractors.prose import Prose
from git_agent_extractors.scan import Scan

# 128 + signal, as a shell or the engine itself says it: HUP, INT, QUIT, KILL, TERM (claude exits 143 on SIGTERM).
_SIGNALLED = {129, 130, 131, 137, 143}

_NAMES = 100
# What is reported and done, in which most of a long transcript consists.
_TALK = frozenset({"message", "reasoning", "tool_call", "tool_result"})


class EventSummary:
    """What the events of one attempt, in order, amount to."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._events: dict[str, int] = {}
        self._unknown: dict[str, int] = {}
        self._usage: dict[str, float] = {}
        self._model: str | None = None
        self._message: str | None = None
        self._deltas: Prose | None = None
        self._end: Event | None = None
        self._failure: Event | None = None
        self._call = Refusal("", "")
        self._refused: dict[Refusal, None] = {}
        self._trouble: Event | None = None
        self._retrying = False

    def add(self, events: Sequence[Event]) -> None:
        kinds = [event[0] for event in events]
        for kind in dict.fromkeys(kinds):
            self._events[kind] = self._events.get(kind, 0) + kinds.count(kind)
        if _TALK.issuperset(kinds):
            self._talk(events)
            return
        for event in events:
            if event.kind in _TALK:
                self._talk((event,))
            else:
                self._note(event)

    def _talk(self, events: Sequence[Event]) -> None:
        """Read messages and tools from the end, to the last whole message: what was said before it does not count.

        A message or a tool call after an end begins another turn: the run is not over.
        """
        pieces: list[str] = []
        called = False
        for kind, text, name, data in reversed(events):
            if kind == "message":
                if not data.get("delta"):
                    self._message, called = None if pieces else text, True
                    break
                pieces.append("" if called else text)
            elif kind == "tool_call":
                self._call = self._call if called else Refusal(name, text)
                called = True
        else:
            self._message = None if pieces else self._message
        self._retrying = self._retrying and not events
        if called or pieces:
            self._end = None
        if called:
            self._deltas = None
        if said := "".join(reversed(pieces)):
            self._deltas = self._deltas or Prose()
            self._deltas.keep(said)

    def _note(self, event: Event) -> None:
        kind, data = event.kind, event.data
        if model := data.get("model"):
            self._model = model
        if kind == "end":
            self._end = self._ended(event)
        elif kind == "usage":
            self._count(data)
        elif kind == "unknown":
            name = event.name if len(self._unknown) < _NAMES or event.name in self._unknown else "others"
            self._unknown[name] = self._unknown.get(name, 0) + 1
        elif kind == "refused":
            self._refuse(event)
        elif kind == "error":
            self._err(event)

    def _refuse(self, event: Event) -> None:
        """What the event leaves open is given by the call before it."""
        tool, words = event.name or self._call.tool, event.text
        if not words and tool == self._call.tool:
            words = self._call.text
        if len(self._refused) < _NAMES:
            self._refused[Refusal(tool, words)] = None

    def _err(self, event: Event) -> None:
        if event.data.get("fatal", True):
            self._failure = event
            if not event.data.get("unsure"):
                self._end = None
        elif event.data["status"] != "failed":
            self._trouble, self._retrying = event, True
        else:
            self._retrying = self._retrying or bool(event.data.get("retry"))

    def _ended(self, event: Event) -> Event:
        """copilot says that all went well after it was interrupted, too."""
        before = self._end
        if before and (before.data["status"], event.data["status"]) == ("interrupted", "completed"):
            return before
        return event

    def _count(self, data: Mapping[str, Any]) -> None:
        for name, value in data.items():
            if isinstance(value, (int, float)):
                adds = self._profile.usage_adds and name not in self._profile.usage_totals
                base = self._usage.get(name, 0) if adds else 0
                self._usage[name] = base + value

    def transcript(self, scans: Mapping[Source, Scan], exit_status: int | None) -> Transcript:
        status, error = self._stopped(*self._verdict(scans, exit_status), exit_status)
        holder = next((source for source in SOURCES if source in scans and scans[source].session.value), None)
        answer = self._message or ("".join(self._deltas.lines()) if self._deltas else None) or None
        if self._end is not None and status == "completed":
            answer = answer or self._end.text or None
        elif not any(scan.known for scan in scans.values()) and status not in {"completed", "interrupted"}:
            answer = None  # what was printed is the error
        return Transcript(
            engine=self._profile.name,
            session=scans[holder].session if holder else NO_SESSION,
            source=holder,
            status=status,
            model=self._model,
            final_message=answer,
            usage=self._usage or None,
            events=self._events,
            unknown_events=self._unknown,
            warnings=tuple(warning for source in SOURCES if source in scans for warning in scans[source].warnings),
            error=error,
            refused=tuple(self._refused),
        )

    def _stopped(self, status: Status, error: str | None, exit_status: int | None) -> tuple[Status, str | None]:
        """Of a run without an end: what it was trying again for, or what it was refused (opencode/1.18.33, exit 0)."""
        if status != "interrupted" or self._end is not None or exit_status is None:
            return status, error
        if self._retrying and self._trouble:
            return self._trouble.data["status"], self._trouble.text or None
        if self._refused and exit_status == 0:
            last = list(self._refused)[-1]
            return "failed", f"it stopped when it was refused {last.tool}: {last.text}"
        return status, error

    def _verdict(self, scans: Mapping[Source, Scan], exit_status: int | None) -> tuple[Status, str | None]:
        """The engine's own end first, then the errors it printed, then its exit status."""
        known = any(scan.known for scan in scans.values())
        if self._end is not None:
            status: Status = self._end.data["status"]
            if status == "completed" and self._failed_all_the_same(exit_status, known=known):
                return self._failed(exit_status)
            if status != "failed":
                return status, None if status == "completed" else self._end.text or None
        elif not self._believed(exit_status):
            return self._silent(scans, known, exit_status)
        return self._failed(exit_status)

    def _failed_all_the_same(self, exit_status: int | None, *, known: bool) -> bool:
        """Whatever signal came after an end of the engine's own, it has finished its turn."""
        if exit_status is None or exit_status <= 0:
            return False
        return not known or (self._profile.nonzero_fails and exit_status not in _SIGNALLED)

    def _believed(self, exit_status: int | None) -> bool:
        failed = self._failure
        return failed is not None and (exit_status != 0 or not failed.data.get("unsure"))

    def _failed(self, exit_status: int | None) -> tuple[Status, str | None]:
        """What it says first, and the first status that tells more than `failed` (gemini/0.47.0/hang-up)."""
        ended = self._end if self._end is not None and self._end.data["status"] != "completed" else None
        told = [event for event in (ended, self._failure) if event is not None]
        status: Status = next((s for event in told if (s := event.data["status"]) != "failed"), "failed")
        if status == "failed" and exit_status is not None:
            status = self._profile.exits.get(exit_status, status)
        return status, (told[0].text or None) if told else None

    def _silent(self, scans: Mapping[Source, Scan], known: bool, exit_status: int | None) -> tuple[Status, str | None]:
        """No end and no error: a reply that was cut off, an answer in text mode, or nothing."""
        if exit_status is not None and exit_status in self._profile.exits:
            return self._profile.exits[exit_status], None
        said = any(scan.printed for source, scan in scans.items() if source != "stderr")
        if exit_status is None:
            return ("interrupted" if any(scan.printed for scan in scans.values()) else "no_output"), None
        if exit_status < 0 or exit_status in _SIGNALLED:
            return "interrupted", None
        if exit_status > 0:
            return ("interrupted" if known and self._profile.tells_failures else "failed"), None
        if known:
            return "interrupted", None
        return ("completed" if said else "no_output"), None
