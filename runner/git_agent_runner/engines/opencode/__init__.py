"""OpenCode: its command line, its sessions, and a session removed of its store."""
