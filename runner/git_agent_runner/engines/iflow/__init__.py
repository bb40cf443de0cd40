"""iFlow CLI, by its documentation: its command line and its sessions."""
