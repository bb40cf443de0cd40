"""An agent that changes files, in its own work tree: a patch comes of it, put in place only where it is clean."""
