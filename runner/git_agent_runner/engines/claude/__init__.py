"""Claude Code: its command line, its flags, its sessions."""
