"""Gemini CLI: its command line, its sessions, and the files that it attaches by itself."""
