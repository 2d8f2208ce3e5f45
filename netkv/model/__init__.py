"""What a rack, a network and an option are. It knows no scheme and no event."""
