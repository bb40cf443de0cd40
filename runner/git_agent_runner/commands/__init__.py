"""The subcommands, one module each: functions of named values that return an exit status."""
