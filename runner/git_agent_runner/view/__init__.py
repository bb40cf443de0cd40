"""What people look at of a run."""
