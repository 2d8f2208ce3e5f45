"""What a rack, a network, an event, an option and a case are. It knows no scheme."""
