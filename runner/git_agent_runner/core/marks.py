"""Names of files that plain sh looks for, too. No imports here: a hook may end before anything is imported."""

DETACHED = "agent-detached"  # in a work tree's git directory: a run without a branch began there
