"""FarReach: a write-back cache in the switch."""
