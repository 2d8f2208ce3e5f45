//! The client of DistReach (`docs/schemes/distreach.md`, "Client"): it stamps its requests with the
//! newest incarnation that any answer has carried. It keeps no copies and does not register. The
//! servers are those of [`crate::kits::write_back`].

use netkv_wire::{FrameView, MAX_CACHED_VALUE, Sequence, Stamp, is_newer};

use crate::entries::Roles;
use crate::kits::single_key;
use crate::kits::single_key::client::{self, Protocol, Verdict};
use crate::kits::write_back::clients::{WINDOW, check_clients};
use crate::{ClientConfig, Counts};

/// The clients of a process.
pub type Client = single_key::Client<DistReach>;

pub(crate) const ROLES: Roles =
    Roles { clients: &[client::role::<DistReach>("distreach")], ..Roles::NONE };

/// The state of a client process.
#[derive(Debug)]
pub struct DistReach {
    /// The newest known incarnation of any chain; 0 for none.
    incarnation: u32,
}

impl Protocol for DistReach {
    const WINDOW: u32 = WINDOW;

    fn new(config: &ClientConfig) -> Result<Self, String> {
        check_clients(config, "DistReach")?;
        Ok(Self { incarnation: 0 })
    }

    fn stamp(&self) -> Option<Stamp> {
        let sequence = Sequence { incarnation: self.incarnation, number: 0 };
        Some(Stamp { sequence, generation: 0, bits: 0 })
    }

    /// The tail may also answer a write whose value fits no entry: a copy, if the entry has a newer
    /// write.
    fn judge(&self, frame: &FrameView<'_>, _written: usize) -> Verdict {
        let cacheable = frame.value().len() <= MAX_CACHED_VALUE;
        let possible = !frame.cache_hit() || frame.stamp().is_some() && cacheable;
        if possible { Verdict::Accept } else { Verdict::Malformed }
    }

    fn on_answer(&mut self, frame: &FrameView<'_>) {
        let incarnation = frame.stamp().map_or(0, |stamp| stamp.sequence.incarnation);
        let first = self.incarnation == 0;
        if incarnation != 0 && (first || is_newer(incarnation, self.incarnation)) {
            self.incarnation = incarnation;
        }
    }

    fn crash(&mut self) {
        self.incarnation = 0;
    }

    fn add_gauges(&self, into: &mut Counts) {
        into.push(("known_incarnation", u64::from(self.incarnation)));
    }
}

#[cfg(test)]
mod tests {
    use netkv_wire::{Message, Op, SERVICE_IP, Status, client_ip, write_frame};
    use netkv_workload::Arrivals;

    use super::*;
    use crate::kits::write_back::clients::MAX_CLIENTS;

    fn config(clients: u16) -> ClientConfig {
        ClientConfig {
            window: WINDOW,
            ..ClientConfig::new(clients, Arrivals::Closed { outstanding: 1 })
        }
    }

    fn answer(stamp: Option<u32>, status: Status, cache_hit: bool, value: &[u8]) -> Vec<u8> {
        let request = Message::request(client_ip(1), SERVICE_IP, Op::GetReply, 1, 7, [0; 16]);
        let stamp = stamp.map(|incarnation| {
            let sequence = Sequence { incarnation, number: 3 };
            Stamp { sequence, generation: 0, bits: 0 }
        });
        let mut frame = Vec::new();
        let message = request.with_status(status).with_value(value);
        write_frame(&mut frame, &Message { stamp, cache_hit, ..message });
        frame
    }

    #[test]
    fn requests_have_the_newest_incarnation_of_any_answer() {
        let mut protocol = DistReach::new(&config(1)).unwrap();
        let known = |protocol: &DistReach| protocol.stamp().unwrap().sequence.incarnation;
        assert_eq!(known(&protocol), 0);
        for (incarnation, expected) in [(5, 5), (3, 5), (0, 5), (9, 9), (u32::MAX, 9)] {
            let frame = answer(Some(incarnation), Status::Ok, false, &[]);
            protocol.on_answer(&FrameView::parse(&frame).unwrap());
            assert_eq!(known(&protocol), expected);
        }
        let frame = answer(Some(12), Status::Unknown, false, &[]);
        protocol.on_answer(&FrameView::parse(&frame).unwrap());
        assert_eq!(known(&protocol), 12, "a refusal has the incarnation of the chain");
        protocol.crash();
        assert_eq!(known(&protocol), 0);
    }

    #[test]
    fn answers_of_switches_are_stamped_and_fit_an_entry() {
        let protocol = DistReach::new(&config(1)).unwrap();
        let judge = |stamp, cache_hit, size| {
            let frame = answer(stamp, Status::Ok, cache_hit, &vec![0; size]);
            protocol.judge(&FrameView::parse(&frame).unwrap(), MAX_CACHED_VALUE + 1)
        };
        assert_eq!(judge(Some(5), false, MAX_CACHED_VALUE + 1), Verdict::Accept);
        assert_eq!(judge(Some(5), true, MAX_CACHED_VALUE), Verdict::Accept);
        assert_eq!(judge(Some(5), true, MAX_CACHED_VALUE + 1), Verdict::Malformed);
        assert_eq!(judge(None, true, 1), Verdict::Malformed);
    }

    #[test]
    fn too_many_clients_are_refused() {
        let refused = DistReach::new(&config(MAX_CLIENTS + 1)).unwrap_err();
        assert!(refused.contains("tells clients 1 to 64 apart"), "{refused}");
    }
}
