"""What git and pre-commit call."""

import git_agent_runner  # noqa: F401  drops what a tracked file could be imported from, before anything else is
