"""Runs that nobody waits for: several at once, in processes of their own."""
