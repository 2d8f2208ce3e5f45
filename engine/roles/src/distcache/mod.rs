//! DistCache: single keys behind write-through caches in two layers of switches
//! (`docs/schemes/distcache.md`). Clients are those of [`crate::kits::plain`].
//!
//! Rules of a server, beside those of [`crate::kits::write_through`]
//! -----
//! 1. After its start, a server knows no copy in the upper layer: every write is slow until the
//!    controller has installed all of them again and has answered RESTARTED.
//! 2. If a switch of the upper layer does not answer for long, the server forgets all upper records
//!    and asks again, as after its start: the controller that knew of them may have failed, too.

mod upper_layer;

use crate::entries::Roles;
use crate::kits::single_key::server;
use crate::kits::write_through::WriteThrough;
use upper_layer::TwoLayers;

/// The protocol of servers.
pub type DistCache = WriteThrough<TwoLayers>;

pub(crate) const ROLES: Roles =
    Roles { servers: &[server::role::<DistCache>("distcache")], ..Roles::NONE };
