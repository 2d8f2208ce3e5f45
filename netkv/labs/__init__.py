"""The life of labs: start, status and stop, their supervisor, and `netkv doctor`."""
