"""Our handling of an engine's session: back up, restore, hand over, fork. The one room that writes into engines'
stores."""
