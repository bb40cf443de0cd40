"""An agent that looks at a change and hands back a verdict, in a work tree of its own, made from what git commits."""
