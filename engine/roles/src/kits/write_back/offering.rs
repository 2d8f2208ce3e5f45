//! Offers hot records to the controller.

use netkv_wire::{CONTROLLER_IP, FrameView, Key, MAX_CACHED_VALUE, Op, Sequence, Stamp};

use super::offers::Offer;
use super::state::{Server, Timer};
use crate::{Actions, Nanos, SECOND};

/// Most keys with an open or just answered offer; beyond, no other key is offered.
const MAX_OFFERS: usize = 4096;
/// How long after the answer a key is not offered again.
const COOL_DOWN: Nanos = SECOND;

impl Server {
    /// The switch has reported `key` as hot. This is its record now; `None` if it is deleted.
    pub(super) fn offer(
        &mut self,
        now: Nanos,
        key: &Key,
        sequence: Sequence,
        value: Option<&[u8]>,
        out: &mut Actions,
    ) {
        let Some(value) = value.filter(|it| it.len() <= MAX_CACHED_VALUE) else { return };
        if self.protocol.offers.by_key.len() >= MAX_OFFERS
            || self.protocol.offers.by_key.contains_key(key)
        {
            return;
        }
        self.protocol.offers.by_key.insert(*key, Offer::Open { sequence, value: value.to_vec() });
        self.protocol.stats.offers += 1;
        self.open_offer(now, key, out);
    }

    /// The controller has answered.
    pub(super) fn on_offer_reply(&mut self, now: Nanos, frame: &FrameView<'_>) {
        if !self.protocol.pending.is_answer(now, frame, Op::Offer) {
            self.stats.unexpected += 1;
            return;
        }
        let key = frame.key();
        self.protocol.pending.close(frame.request());
        self.protocol.offers.by_key.insert(key, Offer::Answered);
        self.timers.set(now + COOL_DOWN, Timer::OfferAgain(key));
    }

    /// Opens an OFFER, which is sent again until it is answered.
    fn open_offer(&mut self, now: Nanos, key: &Key, out: &mut Actions) {
        let (request, again) = self.protocol.pending.open(now, Op::Offer, false, key, 0);
        self.timers.set(again, Timer::Retry(request));
        self.send_offer(request, out);
    }

    /// Sends an OFFER again, if it is still pending.
    pub(super) fn send_again(&mut self, now: Nanos, request: u32, out: &mut Actions) {
        if let Some(again) = self.protocol.pending.again(now, request) {
            self.timers.set(again, Timer::Retry(request));
            self.stats.retries += 1;
            self.send_offer(request, out);
        }
    }

    fn send_offer(&self, request: u32, out: &mut Actions) {
        let requests = &self.protocol.pending;
        let Some(pending) = requests.get(request) else { return };
        let Some((sequence, value)) = self.protocol.offers.record(&pending.key) else { return };
        let stamp = Stamp { sequence, ..Stamp::default() };
        let message = requests.message(request, pending, CONTROLLER_IP);
        out.send(&message.with_stamp(stamp).with_value(value));
    }
}
