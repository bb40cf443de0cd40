"""An oracle for branches: it knows each by an identity of its own, whatever it is called, and whose each run is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple


class Op(NamedTuple):
    """One thing that a person does; `name` and `to` are branches."""

    verb: str
    name: str = ""
    to: str = ""

    def __str__(self) -> str:
        return " ".join(word for word in self if word)


class Oracle:
    """Who is who. `main` is there from the beginning, and HEAD is on it."""

    def __init__(self) -> None:
        self._count = count(1)
        self.head = "main"
        self.ids = {"main": 0}  # the living, by name
        self.runs: dict[int, list[str]] = {0: []}  # handles, the one that was continued last is the last
        self.copied: dict[int, str] = {}  # what the pointer of a copy named when it was made

    def fork(self) -> Oracle:
        """The same, for another way to go on."""
        other = Oracle()
        other._count = count(max(self.runs) + 1)
        other.head, other.ids, other.copied = self.head, dict(self.ids), dict(self.copied)
        other.runs = {number: list(runs) for number, runs in self.runs.items()}
        return other

    def apply(self, op: Op, handle: str = "") -> None:
        """What git does for `op`; `handle` is that of the run that a start makes."""
        if op.verb in ("new", "origin"):
            self._born(op.name)
            self.head = op.name
        elif op.verb == "rename":
            self.ids[op.to] = self.ids.pop(op.name)
            self.head = op.to if self.head == op.name else self.head
        elif op.verb == "copy":
            pointed = self.newest(op.name) or self.copied.get(self.ids[op.name])
            self._born(op.to)
            if pointed:
                self.copied[self.ids[op.to]] = pointed
        elif op.verb == "delete":
            del self.ids[op.name]
        elif op.verb == "switch":
            self.head = op.name
        elif op.verb == "start":
            self.runs[self.ids[self.head]].append(handle)

    def _born(self, name: str) -> None:
        self.ids[name] = next(self._count)
        self.runs[self.ids[name]] = []

    def newest(self, name: str) -> str | None:
        """The run that a resume on this branch has to continue."""
        return next(reversed(self.runs[self.ids[name]]), None)

    def right(self, name: str) -> set[str | None]:
        """The right answers for this branch: its newest run; a copy may have that of an original that is gone."""
        if own := self.newest(name):
            return {own}
        heir = self.copied.get(self.ids[name])
        return {None, heir} if heir and not self.owner(heir) else {None}

    def owner(self, handle: str) -> str | None:
        """The name that the run's branch has now."""
        return next((name for name, number in self.ids.items() if handle in self.runs[number]), None)

    def heirs(self, handle: str) -> set[str]:
        """The copies that may have the run of an original that is gone."""
        return {name for name, number in self.ids.items() if self.copied.get(number) == handle}

    def possible(self, names: tuple[str, ...]) -> Iterator[Op]:
        """What a person may do to these names. `rename` and `copy` take a living name over, too (-M, -C)."""
        for name in names:
            if name not in self.ids:
                yield Op("new", name)
                yield Op("origin", name)
                continue
            for to in names:
                if to != name:
                    yield Op("rename", name, to)
                    yield Op("copy", name, to)
            yield from (Op(verb, name) for verb in ("delete", "commit", "start"))

    def switched(self, op: Op) -> str | None:
        """The branch that has to be checked out first, if another one is: git spares the one that it stands on."""
        where = {"delete": "main", "commit": op.name, "start": op.name}.get(op.verb, self.head)
        if op.verb == "delete" and self.head != op.name:
            where = self.head
        if op.verb in ("rename", "copy") and self.head == op.to in self.ids:
            where = op.name
        return where if where != self.head else None


def git_words(op: Op, oracle: Oracle) -> tuple[str, ...]:
    """The words for git, before the oracle has heard of it."""
    taken = op.to in oracle.ids
    words: dict[str, tuple[str, ...]] = {
        "new": ("switch", "-q", "-c", op.name, "main"),
        "origin": ("switch", "-q", "-c", op.name, "origin/main"),
        "rename": ("branch", "-M" if taken else "-m", op.name, op.to),
        "copy": ("branch", "-C" if taken else "-c", op.name, op.to),
        "delete": ("branch", "-q", "-D", op.name),
        "switch": ("switch", "-q", op.name),
        "commit": ("commit", "-q", "--allow-empty", "-m", "work"),
    }
    return words[op.verb]
