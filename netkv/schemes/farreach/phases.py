"""The phases of a recovery."""

RECOVERY_PHASES = ("collect", "update servers", "re-admit")
