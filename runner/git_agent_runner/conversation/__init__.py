"""The engine's session as a thing of ours: backed up, restored. The one room that writes into engines' stores."""
