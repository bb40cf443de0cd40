"""Reading what coding-agent engines print: sessions, events and verdicts, from bytes alone."""
