//! `Simulation`: a rack in virtual time, whose controllers are in Python.

mod channel;
mod delivery;
mod methods;
mod simulation;

pub use simulation::Simulation;
