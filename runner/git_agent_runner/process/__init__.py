"""Running one engine process: bytes to disk as they come, terminals, signals, the tree of processes."""
