"""`make chaos SECONDS=60 SEED=1`: random walks until the time is over; each seed is a walk of its own."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from support.chaos import Walk, ordinary

STEPS = 14


def main(seconds: float, seed: int) -> None:
    end, walked = time.monotonic() + seconds, 0
    with TemporaryDirectory() as room:
        while time.monotonic() < end:
            place = Path(room, str(seed))
            home = place / "home"
            home.mkdir(parents=True)
            environ = ordinary(dict(os.environ), home)
            os.environ.clear()
            os.environ.update(environ)
            walk = Walk(seed, place, home)
            while len(walk.done) < STEPS:
                walk.step()
            seed, walked = seed + 1, walked + 1
    print(f"{walked} walks of {STEPS} steps, the last with SEED={seed - 1}: nothing is wrong")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else random.SystemRandom().randrange(10**6))
