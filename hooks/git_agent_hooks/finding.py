"""What `git agent doctor` finds of our hooks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from git_agent_hooks.install import install, lost
from git_agent_hooks.place import find
from git_agent_runner.maintain.doctor.finding import Finding, RepositoryFacts


def lost_hooks(known: RepositoryFacts) -> Iterator[Finding]:
    """Our hooks that another tool has removed, or that a hook manager does not call yet."""
    ctx = known.ctx
    for hook in lost(ctx):
        place = find(ctx)
        why = f"{place.manager} does not call it" if place.manager else "another tool has removed it"
        repair = None if place.manager else partial(install, ctx, place)
        fix = "git agent hooks install"
        yield Finding("hook_lost", f"our hook {hook.name} does not run: {why}", fix, repair)
