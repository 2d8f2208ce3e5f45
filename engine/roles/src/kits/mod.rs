//! What several schemes share. A kit that is a whole role has it in [`ROLES`].
//!
//! | module | for |
//! |---|---|
//! | [`single_key`] | servers and clients of single keys, each generic over its protocol |
//! | [`plain`] | single keys with nothing added |
//! | [`memcached`] | single keys in memcached's binary protocol over UDP |
//! | [`write_through`] | servers behind write-through caches in switches |
//! | [`write_back`] | servers behind write-back caches in switches |
//! | [`multiget`] | servers and clients of several keys at once |

pub mod memcached;
pub mod multiget;
pub mod plain;
pub mod single_key;
pub mod write_back;
pub mod write_through;

use crate::entries::Roles;

/// The roles that have the name of their kit.
pub(crate) static ROLES: &[Roles] =
    &[plain::ROLES, memcached::ROLES, write_back::ROLES, multiget::ROLES];
