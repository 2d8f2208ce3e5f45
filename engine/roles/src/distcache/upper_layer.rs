//! What a server has to learn: the copies in the upper layer.

use netkv_wire::{FrameView, Key, Op, Status};

use crate::kits::write_through::layers::Layer;
use crate::kits::write_through::state::{Step, Timer};
use crate::kits::write_through::{Layers, Server};
use crate::{Actions, Nanos};

/// Transmissions of a request without an answer, after which its switch counts as silent.
const SILENT_AFTER: u32 = 8;

/// Two layers of switches.
#[derive(Debug, Default)]
pub struct TwoLayers {
    /// Whether all copies in the upper layer are known: RESTARTED is answered (rule 1).
    knows_copies: bool,
}

impl Layers for TwoLayers {
    const LAYERS: &'static [Layer] = &Layer::ALL;

    fn on_start(server: &mut Server<Self>, now: Nanos) {
        server.timers.set(now, Timer::Start);
    }

    fn on_start_timer(server: &mut Server<Self>, now: Nanos, out: &mut Actions) {
        server.ask_for_copies(now, out);
    }

    fn knows_upper(&self) -> bool {
        self.knows_copies
    }

    fn on_unanswered(server: &mut Server<Self>, now: Nanos, tries: u32, out: &mut Actions) {
        if tries >= SILENT_AFTER {
            server.forget_copies(now, out);
        }
    }

    fn is_for_all(op: Op) -> bool {
        op == Op::RestartedReply
    }

    fn on_message(server: &mut Server<Self>, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        match frame.op() {
            Op::RestartedReply => server.on_restarted_reply(now, frame, out),
            _ => server.reject_message(frame, out),
        }
    }
}

impl Server<TwoLayers> {
    /// Asks the controller for the copies in the upper layer. Writes are slow until it has
    /// answered.
    fn ask_for_copies(&mut self, now: Nanos, out: &mut Actions) {
        let request = self.open(now, Op::Restarted, Layer::Lower, &Key::default(), 0);
        self.send_pending(request, out);
    }

    /// A switch of the upper layer is silent: its copies may be gone without anybody who knows that
    /// they were there. Begins anew, as after a start (rule 2).
    fn forget_copies(&mut self, now: Nanos, out: &mut Actions) {
        if !self.protocol.layers.knows_copies {
            return;
        }
        self.protocol.layers.knows_copies = false;
        let keys: Vec<Key> = self.protocol.records[Layer::Upper].keys().copied().collect();
        for key in keys {
            self.forget(&key, Layer::Upper);
        }
        self.ask_for_copies(now, out);
    }

    /// The controller has installed all copies again. What was not installed is in no switch that
    /// clients read from, so nothing waits for an answer about it any more.
    fn on_restarted_reply(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        if self.answered(now, frame, Op::Restarted).is_none() {
            return;
        }
        self.protocol.pending.close(frame.request());
        self.protocol.layers.knows_copies = true;
        let records = &self.protocol.records[Layer::Upper];
        let waits = |step: &Option<Step>| match step {
            Some(Step::Invalidating { pending, .. } | Step::Updating { pending, .. }) => {
                pending[Layer::Upper].is_some()
            }
            _ => false,
        };
        let mut free: Vec<Key> = self
            .keys
            .iter()
            .filter(|(key, state)| waits(&state.step) && !records.contains_key(*key))
            .map(|(key, _)| *key)
            .collect();
        // Sorted, since the order of a hash map differs between processors.
        free.sort_unstable();
        for key in free {
            if matches!(self.keys[&key].step, Some(Step::Updating { .. })) {
                self.end_update(now, &key, Layer::Upper, Status::NotCached, out);
            } else {
                self.end_invalidate(now, &key, Layer::Upper, None, out);
            }
        }
    }
}
