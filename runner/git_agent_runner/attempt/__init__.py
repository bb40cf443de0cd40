"""One attempt: plan, checks, directory, run, verdict, settle, report."""
