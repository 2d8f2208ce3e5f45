"""Random cases of `netkv soak`: draws, and situations that the kits' schemes adapt."""
