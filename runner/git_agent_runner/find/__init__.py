"""Which run is meant: by a word, the pointer, the nearest note, the index; and whose a branch's runs are."""
