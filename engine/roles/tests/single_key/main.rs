//! Single keys without a cache: the client against servers that a test plays.

mod client;
mod users;
