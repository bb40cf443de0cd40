"""A new terminal window: one command for all terminals, and for each terminal the argv that opens a window with it."""
