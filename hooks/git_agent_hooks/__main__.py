"""`python -m git_agent_hooks HOOK [ARGS]`: what an installed hook starts."""

from __future__ import annotations

import sys

from git_agent_hooks.main import installed

raise SystemExit(installed(sys.argv[1:]))
