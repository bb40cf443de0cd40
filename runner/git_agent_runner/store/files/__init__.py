"""Where things live, and how they are locked."""
