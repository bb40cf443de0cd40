"""One source of an attempt, as a stream: bytes in, events out, in bounded memory."""

from __future__ import annotations

from collections import deque
from io import BytesIO

import orjson

from git_agent_extractors.hint import ExitHint, begins_screen
from git_agent_extractors.jsontext import loads
from git_agent_extractors.lines import LINE_CAP, Lines
from git_agent_extractors.model import NO_SESSION, Event, Session, Source
from git_agent_extractors.profile import NOTHING, Events, Mode, Object, Profile, Quick, failure, knows, printed_error
from git_agent_extractors.prose import Document, Prose, Remarks
from git_agent_extractors.terminal import clean, has_controls

_ERRORS = 100
# Bytes that take longer to read line by line than it takes to load what reads them at once.
_MUCH = 1 << 14


class Scan:
    """Reads one source. `known`: events of the engine were seen. `printed`: anything but blanks was.

    Until the first event of the engine, plain text is kept: only an output without any is an answer in text mode,
    and only there are lines on stdout believed to be the engine's errors. An object or block that should be the
    whole output is held: if more text follows, it was a quotation in an answer. `screen`: a terminal form draws here,
    and nothing but its exit hint is believed.
    """

    def __init__(
        self, profile: Profile, source: Source, mode: Mode, *, cap: int = LINE_CAP, screen: bool = False
    ) -> None:
        self._profile = profile
        self._kinds = profile.kinds
        self._quick: Quick | None = None
        self._key = profile.key or profile.field
        self._source = source
        self._mode = mode
        self._cap = cap
        self._lines = Lines(cap)
        self._reader = profile.reader(mode)
        self._blocks = source in profile.blocks_on
        self._document = Document(cap)
        self._hint = ExitHint(profile.hint, begins=not screen)
        self._screen = screen
        self._end = 0
        self._prose = Prose()
        self._held: list[Event] | None = None
        self._text_errors: deque[Event] = deque(maxlen=_ERRORS)
        self._error_told: Event | None = None
        self._value: str | None = None
        self._first = True
        self._number = 0
        self._closing = False
        self._skipped = Remarks()
        self._damaged = Remarks()
        self.known = False
        self.printed = False

    @property
    def session(self) -> Session:
        return Session(self._profile.field, self._value) if self._value else NO_SESSION

    @property
    def warnings(self) -> list[str]:
        """What could not be read. A line that only looks like JSON is no damage in an output without events."""
        return self._skipped.lines() + (self._damaged.lines() if self.known else [])

    def feed(self, chunk: bytes) -> list[Event]:
        out: list[Event] = []
        self._take(self._lines.feed(chunk), out)
        return out

    def close(self) -> list[Event]:
        """The events of what is left: an unterminated line, held events, an answer in text mode."""
        out: list[Event] = []
        self._closing = True
        self._take(self._lines.close(), out)
        self._plain(self._document.take())
        if not self.known:
            out += self._text_errors
            if self._answers() and (answer := self._profile.answer(self._prose.lines())):
                out.append(Event("message", answer))
        self._release(out)
        if value := self._hinted():
            self._value = value
            out.append(Event("session", value, data={"value": value}))
        return out

    def _hinted(self) -> str | None:
        """The id that a terminal form left at the end."""
        believed = self._screen or self._source == "stdout"  # a recording of someone else's terminal
        return self._hint.value(self._end) if believed and not self._mode.text else None

    def _answers(self) -> bool:
        """Is the text of this source the model's? On a terminal only where a banner tells its sections apart."""
        return self._source == "stdout" or (self._source == "pty-output" and self._mode.text)

    def _take(self, pieces: list[bytes | None], out: list[Event]) -> None:
        for piece in pieces:
            if piece is None:
                self._skip(out)
                continue
            lines = BytesIO(piece).readlines()  # five times as fast as split where lines are long
            if piece[-1:] in {b"", b"\n"}:
                lines.append(b"")
            if self._read_quickly(piece, lines, out):
                continue
            for ended in lines:
                line = ended.removesuffix(b"\n")
                if len(lines) == 1 or not self._read_quickly(line, [line], out):
                    self._line(line, out)

    def _read_quickly(self, block: bytes, lines: list[bytes], out: list[Event]) -> bool:
        """Read lines that are all plain events, after the first events; False when that cannot be done."""
        if not self.known or self._held is not None or self._mode.text or self._screen or self._document:
            return False
        if self._quick is None:
            if len(block) < _MUCH or self._profile.quick is None:
                return False
            self._quick = self._profile.quick()
        events = self._quick(block, lines, self._value)
        if events is None:
            return False
        out += events
        self._number += len(lines)
        self._end += len(block) + 1
        return True

    def _skip(self, out: list[Event]) -> None:
        self._number += 1
        self._end += self._cap
        # The drawing of a terminal form may be one line of any length.
        self._screen = self._screen or (self._source == "pty-output" and self._number == 1)
        note = f"{self._source} line {self._number}: longer than {self._cap >> 20} MiB, skipped"
        self._skipped.add(note)
        if not self._screen:
            out.append(failure(note, "failed", fatal=False))

    def _line(self, line: bytes, out: list[Event]) -> None:
        self._number += 1
        self._end += len(line) + 1
        if line.startswith(b"{") and not self._mode.text and not self._screen and not self._document:
            try:
                obj = orjson.loads(line)
            except orjson.JSONDecodeError:
                self._odd(line, out)
            else:
                self._object(obj, line, out)
        else:
            self._odd(line, out)

    def _odd(self, line: bytes, out: list[Event]) -> None:
        """A line that is no plain JSON object: terminal output, text, part of a document."""
        if not has_controls(line):
            self._piece(line, line, out)
            return
        if self._source == "pty-output" and begins_screen(line, self._end - len(line) - 1):
            self._screen, self._value, self.known, self._held = True, None, False, None
        for piece in clean(line).rstrip(b"\r").split(b"\r"):
            self._hint.line(piece, line, self._end)
            self._piece(piece.rstrip() if piece[:1] in (b"{", b"[") else piece, line, out)

    def _piece(self, piece: bytes, raw: bytes, out: list[Event]) -> None:
        if self._document:
            self._continue(piece, out)
        elif self._mode.text or self._screen or piece[:1] not in (b"{", b"["):
            self._text(piece.decode("utf-8", "replace"), raw, out)
        elif self._profile.pretty and piece.rstrip() in (b"{", b"["):
            self._document.add(piece)
        else:
            self._json(piece, raw, out)

    def _json(self, piece: bytes, raw: bytes, out: list[Event]) -> None:
        try:
            value = loads(piece)
        except ValueError:
            value = None
            if piece.startswith(b"{"):
                note = "the last line is cut" if self._closing else "not valid JSON"
                self._damaged.add(f"{self._source} line {self._number}: {note}")
        if isinstance(value, dict):
            self._object(value, raw, out)
        elif not self._array(value, raw, out):
            self._text(piece.decode("utf-8", "replace"), raw, out)

    def _array(self, value: object, raw: bytes, out: list[Event]) -> bool:
        """Read an array of events; False when it is none."""
        if not isinstance(value, list) or not any(isinstance(v, dict) and knows(self._profile, v) for v in value):
            return False
        for item in value:
            if isinstance(item, dict):
                self._object(item, raw, out)
        return True

    def _continue(self, piece: bytes, out: list[Event]) -> None:
        if not self._document.add(piece):
            return
        lines = self._document.take()
        raw = b"\n".join(lines)
        try:
            value = loads(raw)
        except ValueError:
            value = None
        if isinstance(value, dict) and knows(self._profile, value):
            self._object(value, raw, out)
        elif not self._array(value, raw, out):
            self._plain(lines)

    def _plain(self, lines: list[bytes]) -> None:
        """Lines of what was no document of the engine's."""
        if lines:
            self._quoted()
            self.printed = True
        for line in lines:
            self._keep(line.decode("utf-8", "replace"))

    def _object(self, obj: Object, raw: bytes, out: list[Event]) -> None:
        kind = obj.get("type")
        handler = self._kinds.get(kind) if isinstance(kind, str) else None
        events = handler(obj) if handler else self._other(obj, raw, out)
        claimed = obj.get(self._key)
        if (claimed is not None and claimed != self._value) or self._first:
            events = self._claim(obj, raw, events)
        if events is None:
            return
        if not self.known:
            self._begin(obj, events, raw, out)
            return
        if self._held is not None:
            self._release(out)
        out += events

    def _claim(self, obj: Object, raw: bytes, events: Events | None) -> Events | None:
        """Take the id of an object whose place and shape are right, and that is in the line as it is."""
        value = self._profile.session(obj, self._first)
        self._first = False
        if not isinstance(value, str) or not self._profile.id_pattern.fullmatch(value):
            return events
        if value == self._value or value.encode() not in raw or (self._profile.first and self._value is not None):
            return events
        self._value = value
        model = self._profile.model(obj)
        data = {"value": value, "model": model} if model else {"value": value}
        return (Event("session", value, data=data), *(events or ()))

    def _other(self, obj: Object, raw: bytes, out: list[Event]) -> Events | None:
        """An object of no type that the engine is known to print; None when it is not the engine's at all."""
        events = self._profile.untyped(obj) if "type" not in obj else None
        self.printed = True
        if events is None:
            kind = obj.get("type")
            out.append(Event("unknown", name=kind[:80] if isinstance(kind, str) else "untyped", data=obj))
            self._keep(raw.decode("utf-8", "replace"))
        return events

    def _begin(self, obj: Object, events: Events, raw: bytes, out: list[Event]) -> None:
        """The first events of the engine."""
        self.printed = True
        if self._source == "stdout" and self._profile.closing(obj):
            self._keep(raw.decode("utf-8", "replace"))
            self._held = list(events)
        else:
            out += events
        self.known = True

    def _release(self, out: list[Event]) -> None:
        if self._held is not None:
            out += self._held
            self._held = None

    def _quoted(self) -> None:
        """Text follows what should have been the whole output."""
        if self._held is not None:
            self._held = self._value = None
            self.known = False

    def _keep(self, text: str) -> None:
        if not self.known and self._source != "stderr":
            self._prose.keep(text)

    def _text(self, text: str, raw: bytes, out: list[Event]) -> None:
        if text and not text.isspace():
            self.printed = True
            self._quoted()
            before = self._mode.text
            events = self._reader.line(text, raw) if self._blocks and not self._screen else NOTHING
            if self._mode.text and not before:  # what looked like events was the echo of a command line
                self._value, self.known = None, False
            self._block(events, out)
            self._error(text, out)
        self._keep(text)

    def _block(self, events: Events, out: list[Event]) -> None:
        """Events of a block of text: a banner, a hint, or the one that ends the output."""
        for event in events:
            if event.kind == "session":
                self._value = event.text
        if self._source == "stdout" and any(event.kind == "end" for event in events):
            self._held = list(events)
        else:
            out += events

    def _error(self, text: str, out: list[Event]) -> None:
        believed = self._source == "stderr" and not self._mode.text
        event = printed_error(self._profile.errors, text, believed=believed)
        if event is not None and event != self._error_told:  # gemini 0.20.2 repeats a refusal for ever
            self._error_told = event
            (self._text_errors if self._source == "stdout" else out).append(event)
