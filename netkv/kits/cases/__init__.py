"""Cases of `netkv soak`: draws, and situations that schemes add to their own cases."""
