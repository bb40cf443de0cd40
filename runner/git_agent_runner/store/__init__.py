"""Records, notes and pointers: the only code that writes state, with its locks and atomic replaces."""
