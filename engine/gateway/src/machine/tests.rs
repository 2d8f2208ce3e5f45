//! The rack is in memory: operations take effect when the test completes them, in any order.

mod commands;
mod foreign;
mod limits;
mod order;
mod world;
