//! What a part does at its events: roles and programs get their frames and timers, and what they
//! send is put on the links of their nodes.

mod cards;
mod clients;
mod coordinators;
mod servers;
mod switches;
