"""Coverage-guided fuzzing of one profile: `python fuzz/profiles.py ENGINE CORPUS [libFuzzer options]`. Linux only.

CORPUS is a folder for the seeds and for what is found.

The first input byte chooses the source, the second the size of chunks. An input breaks the profile when reading it
raises, when the id is not in it, or when its chunks give other events than the whole.
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
    from git_agent_extractors.live import Decoder
    from git_agent_extractors.model import SOURCES, Event, Source
    from git_agent_extractors.profile import Profile
    from git_agent_extractors.profiles import profile_of

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"
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
    for event in whole:
        if event.kind == "session" and not stands_in(event.data["value"], data):
            raise BrokenError(f"{profile.name}: no {event.data['value']} in the input")
    if json.dumps(events(profile, source, data, size)) != json.dumps(whole):
        raise BrokenError(f"{profile.name}: chunks of {size} bytes give other events")


def stands_in(value: str, data: bytes) -> bool:
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", data)
    return value.encode() in plain or any(value.encode(code) in data for code in ("utf-16-le", "utf-16-be"))


def write_seeds(engine: str, corpus: Path) -> None:
    """The beginnings of what this engine printed, spread over its recordings."""
    printed = sorted(path for source in SOURCES for path in (RECORDINGS / engine).glob(f"*/*/{source}"))
    for number, path in enumerate(printed[:: max(1, len(printed) // _SEEDS)]):
        seed = bytes([SOURCES.index(path.name), 6]) + path.read_bytes()[:_SEED_SIZE]
        (corpus / str(number)).write_bytes(seed)


def fuzz(profile: Profile, corpus: Path, options: list[str]) -> None:
    """Runs until an option's limit or a broken input; ends the process."""
    corpus.mkdir(parents=True, exist_ok=True)
    write_seeds(profile.name, corpus)
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda raw: check(profile, raw))
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(profile_of(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
