//! Building blocks that the roles of all protocols share.

pub(crate) mod actions;
pub(crate) mod applied;
pub(crate) mod copies;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod request_numbers;
pub(crate) mod senders;
pub(crate) mod service;
pub(crate) mod slots;
pub(crate) mod source;
pub(crate) mod stats;
pub(crate) mod time;
pub(crate) mod timers;
pub(crate) mod user;
pub(crate) mod value;
pub(crate) mod window;
