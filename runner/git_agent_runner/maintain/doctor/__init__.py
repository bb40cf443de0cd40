"""What is wrong in a repository, and how to fix it: a module for each kind of finding."""
