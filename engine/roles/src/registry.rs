//! Finds roles by their names.
//!
//! A role is named in the configuration of a node (`server_role` and `client_role` of a scheme in
//! Python); a driver deserializes the name to a [`ServerRole`], [`ClientRole`] or
//! [`CoordinatorRole`] and knows nothing else of the protocol. Roles that are not part of this
//! crate are found by a [`Loader`].

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer};

use crate::entries::{ClientEntry, CoordinatorEntry, Roles, ServerEntry};
use crate::{SCHEMES, kits};

/// The roles of this crate; the first of each kind is the default.
fn all() -> impl Iterator<Item = &'static Roles> {
    kits::ROLES.iter().chain(SCHEMES)
}

/// Finds roles by names that this crate does not have. The result is `None` for a name that is not
/// the loader's, and a sentence with the reason for a role that cannot be loaded.
pub trait Loader: Send + Sync {
    /// The role of servers with this name.
    fn server(&self, _name: &str) -> Option<Result<&'static ServerEntry, String>> {
        None
    }

    /// The role of clients with this name.
    fn client(&self, _name: &str) -> Option<Result<&'static ClientEntry, String>> {
        None
    }

    /// The role of coordinators with this name.
    fn coordinator(&self, _name: &str) -> Option<Result<&'static CoordinatorEntry, String>> {
        None
    }
}

static LOADER: OnceLock<Box<dyn Loader>> = OnceLock::new();

/// Sets the loader of this process. Later calls have no effect.
pub fn set_loader(loader: Box<dyn Loader>) {
    let _ = LOADER.set(loader);
}

/// Declares the type of a role that a configuration names.
macro_rules! roles {
    ($(
        $(#[$about:meta])*
        $role:ident of $entry:ident in $list:ident, or $load:ident, $kind:literal;
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub struct $role(&'static $entry);

        impl $role {
            /// All that are part of this crate.
            pub fn all() -> impl Iterator<Item = Self> {
                all().flat_map(|roles| roles.$list).map(Self)
            }

            /// The role with this name.
            ///
            /// # Errors
            ///
            /// A sentence with the available names.
            pub fn named(name: &str) -> Result<Self, String> {
                if let Some(loaded) = LOADER.get().and_then(|loader| loader.$load(name)) {
                    return loaded.map(Self);
                }
                Self::all().find(|role| role.name == name).ok_or_else(|| {
                    let names: Vec<&str> = Self::all().map(|role| role.0.name).collect();
                    let names = names.join(", ");
                    format!("'{name}' is not a role of {}; it is one of: {names}", $kind)
                })
            }
        }

        impl Default for $role {
            fn default() -> Self {
                Self::all().next().expect("there are roles of each kind")
            }
        }

        impl Deref for $role {
            type Target = $entry;

            fn deref(&self) -> &$entry {
                self.0
            }
        }

        impl fmt::Debug for $role {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0.name)
            }
        }

        impl<'de> Deserialize<'de> for $role {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::named(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    )*};
}

roles! {
    /// A role of servers, by its name.
    ServerRole of ServerEntry in servers, or server, "servers";
    /// A role of clients, by its name; the default only sends requests and receives answers.
    ClientRole of ClientEntry in clients, or client, "clients";
    /// A role of coordinators, by its name.
    CoordinatorRole of CoordinatorEntry in coordinators, or coordinator, "coordinators";
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Absent;

    impl Loader for Absent {
        fn server(&self, name: &str) -> Option<Result<&'static ServerEntry, String>> {
            (name == "elsewhere:absent").then(|| Err("it is not there".to_owned()))
        }
    }

    #[test]
    fn names_that_the_loader_does_not_know_are_of_this_crate() {
        set_loader(Box::new(Absent));
        assert_eq!(ServerRole::named("elsewhere:absent").unwrap_err(), "it is not there");
        assert_eq!(ServerRole::named("plain").unwrap().name, "plain");
        let unknown = ClientRole::named("elsewhere:absent").unwrap_err();
        assert!(unknown.starts_with("'elsewhere:absent' is not a role of clients"), "{unknown}");
    }

    #[test]
    fn a_name_stands_for_one_role_of_a_kind() {
        let mut names: Vec<_> = ServerRole::all()
            .map(|role| ("server", role.name))
            .chain(ClientRole::all().map(|role| ("client", role.name)))
            .chain(CoordinatorRole::all().map(|role| ("coordinator", role.name)))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}
