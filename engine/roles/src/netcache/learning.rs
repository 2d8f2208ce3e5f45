//! What a server has to learn after its start: the copies in the upper layer (rule 8).

use netkv_wire::{FrameView, Key, Op};

use super::Server;
use super::state::{Cause, Layer, Step};
use crate::{Actions, Nanos};

impl Server {
    /// Asks the controller for the copies in the upper layer. Writes are slow until it has answered.
    pub(super) fn ask_for_copies(&mut self, now: Nanos, out: &mut Actions) {
        let request = self.open(now, Op::Restarted, Layer::Lower, &Key::default(), 0);
        self.send_pending(request, out);
    }

    /// The controller has installed all copies again. What was not installed is in no switch, so
    /// nothing waits for an answer about it any more.
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
        let waits = |step: &Option<Step>| {
            matches!(step, Some(Step::Invalidating { cause, pending, .. })
                if pending[Layer::Upper].is_some() && !matches!(cause, Cause::Install(_)))
        };
        let free: Vec<Key> = self
            .keys
            .iter()
            .filter(|(key, state)| waits(&state.step) && !records.contains_key(*key))
            .map(|(key, _)| *key)
            .collect();
        for key in free {
            self.end_invalidate(now, &key, Layer::Upper, None, out);
        }
    }
}
