//! Recently dropped clusters of all keys, which a report may need.

use std::collections::VecDeque;

use netkv_wire::Key;

use crate::cluster::Cluster;
use crate::register::Register;

/// Maximum number of clusters.
const MAX_DROPPED: usize = 1 << 12;

/// Recently dropped clusters of all keys.
#[derive(Debug, Default)]
pub(crate) struct Dropped(VecDeque<(Key, Cluster)>);

impl Dropped {
    /// Takes the clusters that a key's history has dropped.
    pub(crate) fn take_from(&mut self, key: &Key, register: &mut Register) {
        for cluster in register.dropped.drain(..) {
            if self.0.len() == MAX_DROPPED {
                self.0.pop_front();
            }
            self.0.push_back((*key, cluster));
        }
    }

    /// The clusters of a key, youngest first.
    pub(crate) fn of_key(&self, key: &Key) -> impl Iterator<Item = Cluster> {
        self.0.iter().rev().filter(move |(of, _)| of == key).map(|(_, cluster)| *cluster)
    }
}
