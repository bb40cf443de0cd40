"""May a session, or a run that only a note knows, become a run of this repository? And writing that down."""
