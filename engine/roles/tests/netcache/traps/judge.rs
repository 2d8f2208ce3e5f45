//! What a trap has done to the users of the rack. Nobody looks into a role here: harm is what
//! clients observe, and where it shows nowhere else, what the controller hears.

use netkv_roles::{Actions, Client as _, MILLISECOND};

use crate::traps::rack::Rack;

/// What users have suffered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// A read gave what had been overwritten, or no order of the operations explains the reads.
    StaleRead,
    /// A read gave a value that nobody wrote to its key.
    WrongValue,
    /// After everything, an acknowledged write is gone.
    LostWrite,
    /// A request was not answered although the network was well again.
    NoAnswer,
    /// The switch does not serve reads of a cached key any more.
    NotServed,
    /// The controller does not hear that an entry is of no use.
    NotFreed,
    /// A key that could be cached is refused.
    NotAdmitted,
    /// A hot key is not reported.
    NotReported,
}

impl Rack {
    /// A client reads the key now, and everything arrives.
    pub fn read_now(&mut self) {
        let read = self.read();
        self.carry(&read);
        self.run();
    }

    /// A client writes the key now, and everything arrives.
    pub fn write_now(&mut self) {
        let write = self.write();
        self.carry(&write);
        self.run();
    }

    /// All requests of clients have been answered by now.
    pub fn must_be_answered(&mut self) {
        if self.client.outstanding() > 0 {
            self.harm.insert(Harm::NoAnswer);
        }
    }

    /// Reads of the key are served by the switch, but for the first, which may refill the entry.
    pub fn must_be_served(&mut self) {
        self.read_now();
        let hits = self.switch.hits;
        self.read_now();
        if self.switch.hits == hits {
            self.harm.insert(Harm::NotServed);
        }
    }

    /// The network is well from now on. Lets everything end, then reads the key from the switch
    /// and from the store, writes it once more, and reads it back.
    pub fn finish(&mut self) {
        self.lose_nothing();
        self.release();
        self.store_recovers();
        self.settle();
        self.read_now();
        self.evict();
        self.read_now();
        self.write_now();
        self.read_now();
        self.settle();
        let mut out = Actions::new();
        self.client.verify(self.now, &mut out);
        self.put_on_wire(&out);
        while self.client.verified().is_none() {
            self.wait(10 * MILLISECOND);
        }
        let report = self.client.verified().unwrap_or_default();
        let counts = self.client.stats().counts;
        let harms = [
            (Harm::StaleRead, counts.stale_reads > 0 || !self.register.is_explained()),
            (Harm::WrongValue, counts.phantom_reads > 0),
            (Harm::LostWrite, report.acked_writes_lost > 0),
            (Harm::NoAnswer, counts.lost > 0 || report.unread > 0),
        ];
        self.harm.extend(harms.into_iter().filter(|(_, suffered)| *suffered).map(|(it, _)| it));
    }

    /// Until every request is answered or given up.
    fn settle(&mut self) {
        for _ in 0..1000 {
            if self.client.outstanding() == 0 {
                return;
            }
            self.wait(10 * MILLISECOND);
        }
        panic!("a client gives up at its deadline");
    }
}
