"""Codex: its command line, its flags, its sessions, and the sandbox that a session had."""
