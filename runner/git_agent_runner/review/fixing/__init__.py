"""An agent that changes files, in a work tree of its own: a patch comes of it, put in place only where it is clean."""
