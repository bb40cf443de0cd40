"""Conversations as refs of git's: what one holds (`form`), and how it is read and written (`objects`)."""
