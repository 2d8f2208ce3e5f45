//! The server's requests to switches and controller.

use netkv_wire::{CONTROLLER_IP, CacheMetadata, FrameView, Key, Message, Op, SERVICE_IP, capacity};

use super::layers::Layer;
use super::server::{Layers, Server};
use super::state::{Requests, Step, Timer};
use crate::{Actions, Nanos};

impl<L: Layers> Server<L> {
    /// The layer of the pending request with this operation that `frame` answers; `None` if it
    /// answers none.
    pub(crate) fn answered(&mut self, now: Nanos, frame: &FrameView<'_>, op: Op) -> Option<Layer> {
        let request = self.protocol.pending.get(frame.request());
        let layer = request.map_or(Layer::of(frame), |pending| Layer::from(pending.upper));
        let answers = self.protocol.pending.is_answer(now, frame, op);
        self.stats.unexpected += u64::from(!answers);
        answers.then_some(layer)
    }

    /// Opens a request, which is sent again until it is answered.
    pub(crate) fn open(
        &mut self,
        now: Nanos,
        op: Op,
        layer: Layer,
        key: &Key,
        generation: u32,
    ) -> u32 {
        let upper = layer == Layer::Upper;
        let (request, again) = self.protocol.pending.open(now, op, upper, key, generation);
        self.timers.set(again, Timer::Retry(request));
        request
    }

    /// Sends a request again, if it is still pending.
    pub(super) fn send_again(&mut self, now: Nanos, request: u32, out: &mut Actions) {
        let Some(pending) = self.protocol.pending.get(request) else { return };
        let (upper, tries) = (pending.upper, pending.attempts());
        if let Some(again) = self.protocol.pending.again(now, request) {
            self.timers.set(again, Timer::Retry(request));
            self.stats.retries += 1;
            self.send_pending(request, out);
        }
        if upper {
            L::on_unanswered(self, now, tries, out);
        }
    }

    pub(super) fn send_all(&self, requests: Requests, out: &mut Actions) {
        for request in Layer::ALL.into_iter().filter_map(|layer| requests[layer]) {
            self.send_pending(request, out);
        }
    }

    pub(crate) fn send_pending(&self, request: u32, out: &mut Actions) {
        let requests = &self.protocol.pending;
        let Some(pending) = requests.get(request) else { return };
        let to_controller = matches!(pending.op, Op::Outgrown | Op::Restarted);
        let to = if to_controller { CONTROLLER_IP } else { SERVICE_IP };
        let message = requests.message(request, pending, to);
        match pending.op {
            Op::Outgrown => {
                let generation = pending.generation;
                out.send(&message.with_cache_metadata(CacheMetadata {
                    generation,
                    version: 0,
                    bitmap: 0,
                }));
            }
            Op::Update => {
                let step = self.keys.get(&pending.key).and_then(|state| state.step.as_ref());
                let Some(Step::Updating { pushes, value, .. }) = step else { return };
                let Some(metadata) = pushes[Layer::from(pending.upper)] else { return };
                let message = message.with_cache_metadata(metadata).with_value(value);
                out.send(&Message { room: capacity(metadata.bitmap), ..message });
            }
            _ => out.send(&message),
        }
    }
}
