"""What is wrong in a repository, and how to mend it: a module for each kind of finding."""
