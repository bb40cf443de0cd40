"""What every room speaks: errors, records, one engine process to be, times, and files replaced whole."""
