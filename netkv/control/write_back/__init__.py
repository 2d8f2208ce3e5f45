"""The parts of a control plane that writes back (docs/farreach.md, section "Controller")."""
