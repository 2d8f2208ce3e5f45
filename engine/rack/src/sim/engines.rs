//! The programs of a part's switches, locked while the part advances.

use std::sync::Arc;

use netkv_dataplane::{SharedSwitch, Switch, SwitchGuard};

use super::division::Division;

pub(super) struct Engines<'a>(Vec<Option<SwitchGuard<'a>>>);

impl<'a> Engines<'a> {
    /// For a part without switches.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Locks the programs of the switches of some parts.
    pub(super) fn lock(
        all: &'a [Arc<SharedSwitch>],
        division: &Division,
        has: impl Fn(usize) -> bool,
    ) -> Self {
        let lock = |(switch, engine): (u16, &'a Arc<SharedSwitch>)| {
            has(division.of_switch(switch)).then(|| engine.lock())
        };
        Self((0..).zip(all).map(lock).collect())
    }

    /// The program of a switch in one of these parts.
    #[inline]
    pub(super) fn of(&mut self, switch: u16) -> &mut Switch {
        match &mut self.0[usize::from(switch)] {
            Some(guard) => guard,
            None => unreachable!("an event is handled in the part of its switch"),
        }
    }
}
