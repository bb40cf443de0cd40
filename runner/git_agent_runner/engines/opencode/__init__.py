"""OpenCode: its command line, its sessions, and a session taken out of its store."""
