"""One attempt, from a request to what is reported of it: plan, checks, place, run, verdict, settle."""
