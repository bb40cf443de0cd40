"""Our own modules in their own process: nothing is imported from where the person happens to be."""

from __future__ import annotations

import os
import sys

# -I leaves out PYTHONPATH and the person's own site-packages. Where they are needed, they come last, after what the
# interpreter has, and `git_agent_runner` itself drops what lies in this repository.
_BEGIN = (
    "import os,runpy,sys;"
    "sys.path+=[sys.argv[1],*filter(os.path.isabs,os.environ.get('PYTHONPATH','').split(os.pathsep))];"
    "del sys.argv[1];"
    "runpy.run_module(sys.argv.pop(1),run_name='__main__',alter_sys=True)"
)


def python(module: str, *words: str) -> tuple[str, ...]:
    """The argv that runs a module of ours with these arguments."""
    import site  # Python has loaded it

    own = (sys.executable, "-I", "-X", "utf8")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not os.environ.get("PYTHONPATH") and root != site.USER_SITE:
        return (*own, "-m", module, *words)
    return (*own, "-c", _BEGIN, root, module, *words)
