//! What a server has to learn: the copies in the upper layer (rules 8 and 9).

use netkv_wire::{FrameView, Key, Op, Status};

use super::Server;
use super::state::{Layer, Step};
use crate::{Actions, Nanos};

/// Transmissions of a request without an answer, after which its switch counts as silent.
pub(super) const SILENT_AFTER: u32 = 8;

impl Server {
    /// Asks the controller for the copies in the upper layer. Writes are slow until it has answered.
    pub(super) fn ask_for_copies(&mut self, now: Nanos, out: &mut Actions) {
        let request = self.open(now, Op::Restarted, Layer::Lower, &Key::default(), 0);
        self.send_pending(request, out);
    }

    /// A switch of the upper layer is silent: its copies may be gone without anybody who knows that
    /// they were there. Begins anew, as after a start (rule 9).
    pub(super) fn forget_copies(&mut self, now: Nanos, out: &mut Actions) {
        if !self.protocol.knows_copies {
            return;
        }
        self.protocol.knows_copies = false;
        let keys: Vec<Key> = self.protocol.records[Layer::Upper].keys().copied().collect();
        for key in keys {
            self.forget(&key, Layer::Upper);
        }
        self.ask_for_copies(now, out);
    }

    /// The controller has installed all copies again. What was not installed is in no switch that
    /// clients read from, so nothing waits for an answer about it any more.
    pub(super) fn on_restarted_reply(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        if self.answered(now, frame, Op::Restarted).is_none() {
            return;
        }
        self.protocol.pending.close(frame.request());
        self.protocol.knows_copies = true;
        let records = &self.protocol.records[Layer::Upper];
        let waits = |step: &Option<Step>| match step {
            Some(Step::Invalidating { pending, .. } | Step::Updating { pending, .. }) => {
                pending[Layer::Upper].is_some()
            }
            _ => false,
        };
        let free: Vec<Key> = self
            .keys
            .iter()
            .filter(|(key, state)| waits(&state.step) && !records.contains_key(*key))
            .map(|(key, _)| *key)
            .collect();
        for key in free {
            if matches!(self.keys[&key].step, Some(Step::Updating { .. })) {
                self.end_update(now, &key, Layer::Upper, Status::NotCached, out);
            } else {
                self.end_invalidate(now, &key, Layer::Upper, None, out);
            }
        }
    }
}
