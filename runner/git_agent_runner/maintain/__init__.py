"""Keeping a repository in order: runs that may be forgotten, and notes shared with other clones."""
