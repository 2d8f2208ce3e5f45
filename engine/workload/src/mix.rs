//! Mixes of operations: those of YCSB, and others.

use crate::Random;

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Read a key.
    Read,
    /// Overwrite a key of the keyspace.
    Update,
    /// Write a key that did not exist.
    Insert,
    /// Read a key, then overwrite it.
    ReadModifyWrite,
    /// Delete a key.
    Delete,
}

/// Shares of the operations; they add up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Share of reads.
    pub read: f64,
    /// Share of updates.
    pub update: f64,
    /// Share of inserts.
    pub insert: f64,
    /// Share of read-modify-writes.
    pub read_modify_write: f64,
    /// Share of deletes.
    pub delete: f64,
}

impl Mix {
    const NONE: Mix =
        Mix { read: 0.0, update: 0.0, insert: 0.0, read_modify_write: 0.0, delete: 0.0 };
    /// YCSB A: half reads, half updates.
    pub const YCSB_A: Mix = Mix { read: 0.5, update: 0.5, ..Mix::NONE };
    /// YCSB B: 95% reads, 5% updates.
    pub const YCSB_B: Mix = Mix { read: 0.95, update: 0.05, ..Mix::NONE };
    /// YCSB C: reads only.
    pub const YCSB_C: Mix = Mix { read: 1.0, ..Mix::NONE };
    /// YCSB D: 95% reads (use with read-latest popularity), 5% inserts.
    pub const YCSB_D: Mix = Mix { read: 0.95, insert: 0.05, ..Mix::NONE };
    /// YCSB F: half reads, half read-modify-writes.
    pub const YCSB_F: Mix = Mix { read: 0.5, read_modify_write: 0.5, ..Mix::NONE };
    /// Inserts only, as in YCSB's load phase.
    pub const INSERT: Mix = Mix { insert: 1.0, ..Mix::NONE };

    /// Reads and this share of writes; `deletes` is the share of deletes among the writes.
    pub const fn writes(writes: f64, deletes: f64) -> Mix {
        Mix {
            read: 1.0 - writes,
            update: writes * (1.0 - deletes),
            delete: writes * deletes,
            ..Mix::NONE
        }
    }

    /// Checks that the shares add up to 1.
    ///
    /// # Errors
    ///
    /// A sentence with the error.
    pub fn check(&self) -> Result<(), String> {
        let shares = self.shares();
        if shares.iter().any(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(format!("every share of an operation mix lies from 0 to 1: {self:?}"));
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(format!("the shares of an operation mix add up to {sum}, not to 1"));
        }
        Ok(())
    }

    /// Draws an operation.
    pub fn draw(&self, random: &mut Random) -> OpKind {
        let mut left = random.unit();
        let mut last = OpKind::Read;
        for (kind, share) in self.shares() {
            if share > 0.0 {
                last = kind;
                if left < share {
                    break;
                }
                left -= share;
            }
        }
        last
    }

    fn shares(&self) -> [(OpKind, f64); 5] {
        [
            (OpKind::Read, self.read),
            (OpKind::Update, self.update),
            (OpKind::Insert, self.insert),
            (OpKind::ReadModifyWrite, self.read_modify_write),
            (OpKind::Delete, self.delete),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_shares_of_the_mix() {
        let own =
            Mix { read: 0.1, update: 0.2, insert: 0.3, read_modify_write: 0.25, delete: 0.15 };
        let mixes = [Mix::YCSB_A, Mix::YCSB_B, Mix::YCSB_C, Mix::YCSB_D, Mix::YCSB_F, Mix::INSERT];
        for mix in mixes.into_iter().chain([own, Mix::writes(0.3, 0.5)]) {
            mix.check().unwrap();
            let mut random = Random::new(1, 2);
            let mut counts = [0u32; 5];
            for _ in 0..100_000 {
                let drawn = mix.draw(&mut random);
                counts[mix.shares().iter().position(|(kind, _)| *kind == drawn).unwrap()] += 1;
            }
            for ((kind, share), count) in mix.shares().into_iter().zip(counts) {
                let sigma = (share * (1.0 - share) / 1e5).sqrt();
                let found = f64::from(count) / 1e5;
                assert!((found - share).abs() <= 4.0 * sigma, "{kind:?}: {found}, not {share}");
            }
        }
    }

    #[test]
    fn shares_that_do_not_add_up_to_1_are_refused() {
        let short = Mix { read: 0.5, update: 0.4, ..Mix::NONE };
        assert!(short.check().unwrap_err().contains("0.9"));
        assert!(Mix { read: 1.5, update: -0.5, ..Mix::NONE }.check().is_err());
        assert!(Mix { read: f64::NAN, ..Mix::NONE }.check().is_err());
    }
}
