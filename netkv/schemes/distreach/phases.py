"""The phases of a recovery."""

RECOVERY_PHASES = ("load", "update servers", "admit")
