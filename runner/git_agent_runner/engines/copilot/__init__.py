"""GitHub Copilot CLI: its command line, its flags, its sessions."""
