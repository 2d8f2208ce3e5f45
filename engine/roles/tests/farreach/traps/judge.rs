//! What a trap has done to the users of the rack. Nobody looks into a role here: harm is what
//! clients observe, and for snapshots, whether they are of one moment.

use netkv_roles::farreach::Client;
use netkv_roles::{Client as _, MILLISECOND};

use crate::traps::rack::Rack;

/// What users have suffered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// No order of the operations explains what clients saw.
    StaleRead,
    /// The same, when everything was read once more at the end.
    LostWrite,
    /// A read gave a value that nobody wrote to its key.
    WrongValue,
    /// A request was not answered although the network was well again.
    NoAnswer,
    /// A snapshot has a record that its entry did not hold at the snapshot point.
    TornSnapshot,
}

impl Rack {
    /// All requests have been answered by now, but so many.
    pub fn must_be_answered_but(&mut self, number: usize) {
        let outstanding: usize = self.clients.iter().map(|client| client.outstanding()).sum();
        if outstanding > number {
            self.harm.insert(Harm::NoAnswer);
        }
    }

    /// All requests of clients have been answered by now.
    pub fn must_be_answered(&mut self) {
        self.must_be_answered_but(0);
    }

    fn is_explained(&self) -> bool {
        self.registers.values().all(crate::common::register::Register::is_explained)
    }

    /// The network is well from now on. Lets everything end, then reads both keys from the switch
    /// and from the store, writes once more, and reads it back.
    pub fn finish(&mut self) {
        self.lose_nothing();
        self.settle();
        if !self.is_explained() {
            self.harm.insert(Harm::StaleRead);
            return;
        }
        self.read_all();
        for key in [self.key, self.other] {
            self.evict_well(key);
        }
        self.read_all();
        self.write_now(1);
        self.read_all();
        self.settle();
        if !self.is_explained() {
            self.harm.insert(Harm::LostWrite);
        }
        let lost = |client: &Client| client.stats().counts.lost;
        if self.clients.iter().map(lost).sum::<u64>() > 0 {
            self.harm.insert(Harm::NoAnswer);
        }
    }

    fn read_all(&mut self) {
        for client in [1, 2] {
            self.read_now(client);
            let other = self.read_other(client);
            self.now(&other);
        }
    }

    /// Until every request is answered or given up.
    fn settle(&mut self) {
        for _ in 0..1000 {
            if self.clients.iter().all(|client| client.outstanding() == 0) {
                return;
            }
            self.wait(10 * MILLISECOND);
        }
        panic!("a client gives up at its deadline");
    }
}
