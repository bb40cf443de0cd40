"""The engine's session as a thing of ours: backed up, put back. The one room that writes into engines' stores."""
