"""Emu and `netkv soak`."""

LOSES_WRITES = "Of two keys in one line of its table, Emu keeps the one that was written last"
