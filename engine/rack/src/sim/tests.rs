//! Racks of real programs and roles in virtual time.
