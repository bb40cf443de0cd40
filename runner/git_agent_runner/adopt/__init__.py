"""Decide whether a session, or a run known only from a note, may become a run of this repository; and write it."""
