"""An agent that looks at a change and hands back a verdict, in its own work tree, made from what git commits."""
