"""CoordiMC: a coordinator splits multigets and gathers their replies."""
