//! Protections that tests can disable, to show that each one is needed.
//!
//! With the feature `mutations` (only this crate's own tests turn it on) one protection of a role
//! can be disabled. Without the feature, [`Mutated::by`] is `false` at compile time, and the
//! compiled code has no trace of it. Each protocol declares its own protections in a module
//! `mutation`; this module has those of all protocols.

use std::fmt;

/// A protection that is disabled in a role.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mutation(&'static str);

impl Mutation {
    /// The protection with this name.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self(name)
    }
}

impl fmt::Debug for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Declares protections, and a list of them for tests.
macro_rules! mutations {
    ($($(#[$about:meta])* $list:ident: [$($(#[$doc:meta])* $name:ident,)*])*) => {
        $($(
            $(#[$doc])*
            #[allow(non_upper_case_globals)] // they are used like the variants of an enum
            pub const $name: $crate::Mutation = $crate::Mutation::named(stringify!($name));
        )*)*
        $(
            $(#[$about])*
            #[cfg(feature = "mutations")]
            pub const $list: &[$crate::Mutation] = &[$($name),*];
        )*
    };
}
pub(crate) use mutations;

mutations! {
/// Protections of requests in every protocol.
REQUESTS: [
    /// Server: a write that was seen before is carried out again.
    RepeatWrites,
    /// Server: a write that is too old to be remembered is carried out as if it were new.
    RepeatLateWrites,
    /// Server: a copy of a write gets no answer.
    LeaveCopiesUnanswered,
    /// Server: a write is answered before the store has it.
    AnswerBeforeStored,
    /// Server: a write that the store refused is answered as if it were done.
    AnswerFailuresAsDone,
    /// Server: a write does not wait for the pending operations on its key.
    OvertakeWrites,
    /// Client: a request is sent once.
    RequestOnce,
]
}

/// The protection that is disabled in a role, if any.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mutated {
    #[cfg(feature = "mutations")]
    mutation: Option<Mutation>,
}

impl Mutated {
    /// Whether this protection is disabled.
    #[inline(always)]
    pub(crate) fn by(self, mutation: Mutation) -> bool {
        #[cfg(feature = "mutations")]
        return self.mutation == Some(mutation);
        #[cfg(not(feature = "mutations"))]
        {
            let _ = mutation;
            false
        }
    }

    /// Disables a protection.
    #[cfg(feature = "mutations")]
    pub(crate) fn without(mutation: Mutation) -> Self {
        Self { mutation: Some(mutation) }
    }
}
