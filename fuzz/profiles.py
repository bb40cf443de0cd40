"""Coverage-guided fuzzing of one profile: `python fuzz/profiles.py ENGINE CORPUS [libFuzzer options]`. Linux only.

ENGINE is one that is shipped, or the file of a declared one. CORPUS is a folder for the seeds and for what is found.

The first input byte chooses the source; the second the size of chunks, the event that quotes the input, and where it
is cut. An input breaks the profile when reading it raises, when the id is not in it, when its chunks give other events
than the whole, when it has an id as a string within an event, or another one when it is torn.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

if sys.platform != "linux":
    sys.exit("fuzzing needs Linux")

import atheris

with atheris.instrument_imports(include=["git_agent_extractors"]):
    from git_agent_extractors.declared import profile as declared
    from git_agent_extractors.live import Decoder
    from git_agent_extractors.model import SOURCES, Event, Source
    from git_agent_extractors.profile import Profile
    from git_agent_extractors.profiles import profile_of

ROOT = Path(__file__).parents[1]
RECORDINGS = (ROOT / "fixtures" / "recordings", ROOT / "tests" / "extractors" / "declared")
_SEED_SIZE, _SEEDS = 8192, 60


class BrokenError(AssertionError):
    """An input for which a profile says what it must not."""


def events(profile: Profile, source: Source, data: bytes, size: int) -> list[Event]:
    decoder = Decoder(profile)
    read = [e for start in range(0, len(data), size) for e in decoder.feed(source, data[start : start + size])]
    return read + decoder.close()


def check(profile: Profile, raw: bytes) -> None:
    """Raises BrokenError when an invariant does not hold for this input."""
    if len(raw) < 2:
        return
    source, size, data = SOURCES[raw[0] % len(SOURCES)], 1 + raw[1], raw[2:]
    whole = events(profile, source, data, len(data) or 1)
    ids = sessions(whole)
    for value in ids:
        if not stands_in(value, data):
            raise BrokenError(f"{profile.name}: no {value} in the input")
    if json.dumps(events(profile, source, data, size)) != json.dumps(whole):
        raise BrokenError(f"{profile.name}: chunks of {size} bytes give other events")
    if found := sessions(events(profile, source, quoted(profile, raw[1], data), 1 << 16)):
        raise BrokenError(f"{profile.name}: {found} in a string")
    found = sessions(events(profile, source, torn(data, len(data) * raw[1] // 256), 1 << 16)) - ids
    # An object that may be the whole output names its session, and is a quotation as soon as more text follows it.
    if found and (ids or profile.closing is Profile._field_defaults["closing"]):
        raise BrokenError(f"{profile.name}: {found} in what is left of it")


def sessions(told: list[Event]) -> set[str]:
    return {event.data["value"] for event in told if event.kind == "session"}


def quoted(profile: Profile, choice: int, data: bytes) -> bytes:
    """An event of the engine's that has the data in its strings, as a tool's output has a transcript."""
    types = [{}, *({"type": kind} for kind in sorted(profile.kinds))]
    text = data.decode("latin-1")
    event = {**types[choice % len(types)], "text": text, "message": {"content": [text]}, "result": text}
    return json.dumps(event).encode() + b"\n"


def torn(data: bytes, at: int) -> bytes:
    """Cut within a line of JSON, but before any other one: a line with junk behind it is whole when it is cut there."""
    start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
    try:
        json.loads(data[start : end if end >= 0 else None])
    except ValueError:
        return data[:start]
    return data[:at]


def stands_in(value: str, data: bytes) -> bool:
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", data)
    return value.encode() in plain or any(value.encode(code) in data for code in ("utf-16-le", "utf-16-be"))


def write_seeds(engine: str, corpus: Path) -> None:
    """The beginnings of what this engine printed, spread over its recordings."""
    printed = sorted(path for root in RECORDINGS for name in SOURCES for path in (root / engine).glob(f"*/*/{name}"))
    for number, path in enumerate(printed[:: max(1, len(printed) // _SEEDS)]):
        seed = bytes([SOURCES.index(path.name), number * 7 % 256]) + path.read_bytes()[:_SEED_SIZE]
        (corpus / str(number)).write_bytes(seed)


def fuzz(profile: Profile, corpus: Path, options: list[str]) -> None:
    """Runs until an option's limit or a broken input; ends the process."""
    corpus.mkdir(parents=True, exist_ok=True)
    write_seeds(profile.name, corpus)
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda raw: check(profile, raw))
    atheris.Fuzz()


def chosen(engine: str) -> Profile:
    path = Path(engine)
    if path.suffix != ".yaml":
        return profile_of(engine)
    from git_agent_runner.engines.added import profile_form

    return declared(profile_form.read(path.read_text(), path.stem).rules)


if __name__ == "__main__":
    fuzz(chosen(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
