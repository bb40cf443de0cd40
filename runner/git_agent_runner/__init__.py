"""The program: which session is this branch's, and how its engine is asked to go on with it."""
