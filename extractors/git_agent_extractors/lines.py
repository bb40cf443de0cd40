"""From chunks of bytes to lines, in bounded memory, whatever the encoding mark says."""

from __future__ import annotations

import codecs

# Engines print nothing near it (an image in a tool result: some MB), and a run of 1 GB must be read in 40 MB.
LINE_CAP = 16 << 20


def is_utf16(head: bytes) -> bool:
    return head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Lines:
    """Lines of one stream. Only LF ends a line: U+2028 and lone CR do not.

    A line of more than `cap` bytes is given as None: it is dropped while it arrives, so that at most `cap` bytes
    and one chunk are held. A UTF-16 byte order mark (PowerShell's redirection) turns the stream into UTF-8.
    """

    def __init__(self, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._held = 0
        self._dropping = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._head: bytes | None = b""

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """The whole lines that this chunk completes: as one piece, with LFs between, where none is too long."""
        if self._head is not None:
            chunk = self._begin(self._head + chunk)
        if self._decoder is not None:
            chunk = self._decoder.decode(chunk).encode()
        last = chunk.rfind(b"\n")
        if last < 0:
            self._keep(chunk)
            return []
        pieces: list[bytes | None]
        if self._dropping or self._held + last > self._cap:
            first, *rest = chunk[:last].split(b"\n")
            self._keep(first)
            pieces = [self._take(), *(line if len(line) <= self._cap else None for line in rest)]
        else:
            self._parts.append(chunk[:last])
            pieces = [self._take()]
        self._keep(chunk[last + 1 :])
        return pieces

    def close(self) -> list[bytes | None]:
        """The last line, if the stream did not end with LF."""
        head, self._head = self._head, None
        pieces = self.feed(head) if head else []
        if self._held or self._dropping:
            pieces.append(self._take())
        return pieces

    def _begin(self, chunk: bytes) -> bytes:
        """Two bytes tell the encoding; a shorter beginning waits."""
        if len(chunk) < 2:
            self._head = chunk
            return b""
        self._head = None
        if is_utf16(chunk):
            self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        return chunk

    def _keep(self, part: bytes) -> None:
        self._held += len(part)
        if self._dropping or self._held > self._cap:
            self._dropping = True
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take(self) -> bytes | None:
        line = None if self._dropping else b"".join(self._parts)
        self._parts.clear()
        self._held, self._dropping = 0, False
        return line
