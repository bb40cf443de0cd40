"""Names of files that plain sh looks for, too. Nothing is imported here: a hook may end before anything is."""

DETACHED = "agent-detached"  # in a work tree's git directory: a run without a branch began there
