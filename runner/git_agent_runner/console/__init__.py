"""What a person sees: messages, tables, an agent's words, the pager, and errors."""
