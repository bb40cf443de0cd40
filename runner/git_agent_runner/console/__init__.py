"""What a person sees: lines, tables, what an agent says, the pager, and where an error ends."""
