//! Overwritten writes that are remembered for reports, of all keys.

use std::collections::VecDeque;

use netkv_wire::Key;

use crate::cluster::Cluster;
use crate::register::Register;

/// Most of them.
const MAX_PAST: usize = 1 << 12;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Past(VecDeque<(Key, Cluster)>);

impl Past {
    /// Takes what a key's history has dropped.
    pub(crate) fn take(&mut self, key: &Key, register: &mut Register) {
        for cluster in register.dropped.drain(..) {
            if self.0.len() == MAX_PAST {
                self.0.pop_front();
            }
            self.0.push_back((*key, cluster));
        }
    }

    /// What is remembered of a key, youngest first.
    pub(crate) fn of(&self, key: &Key) -> impl Iterator<Item = Cluster> {
        self.0.iter().rev().filter(move |(of, _)| of == key).map(|(_, cluster)| *cluster)
    }
}
