//! When to prefetch for which frames of a batch (see [`crate::prefetch`]). One call of the compiled
//! function computes the slots of a group of frames, so the processor works on several of them at a
//! time.
#![allow(unsafe_code)]

use netkv_dataplane::{BATCH, Batch, Frame};

use crate::code::Code;
use crate::context::{Ahead, Context};
use crate::prefetch::Prefetch;

/// Before each frame whose position is a multiple of this, later frames are prefetched for.
pub(crate) const STEP: usize = 4;
/// Distance from a position to the last frame whose cells are prefetched. Cells are prefetched for
/// few frames at a time: the processor has a limited number of cache lines under way, and waits if
/// more are requested at once.
const CELL_DISTANCE: usize = 2 * STEP;
/// Number of frames whose slots are computed by one call, and prefetched while the next are
/// computed.
const GROUP: usize = 8;
/// Distance from a position to the last frame whose slot is prefetched. Slots are read later, when
/// the cells that they lead to are prefetched.
const SLOT_DISTANCE: usize = 4 * GROUP;

const _: () = assert!(
    BATCH.is_multiple_of(GROUP)
        && GROUP.is_multiple_of(STEP)
        && CELL_DISTANCE < SLOT_DISTANCE
        && SLOT_DISTANCE <= BATCH
);

/// What has been prefetched for the current batch, and for the frames that were announced.
pub(crate) struct Lookahead {
    /// Frames by their position in the batch.
    frames: [Ahead; BATCH],
    /// Number of frames of the current batch whose slot was prefetched.
    slots: usize,
    /// Number of frames of the current batch whose cells were prefetched.
    cells: usize,
    /// Prefetched slots of the frames that were announced last.
    announced: Vec<*const u64>,
    /// State area for the computation of slots; its content is not used.
    state: Vec<u64>,
}

impl Lookahead {
    pub(crate) fn new(state_words: usize) -> Self {
        Self {
            frames: [Ahead::NONE; BATCH],
            slots: 0,
            cells: 0,
            announced: Vec::with_capacity(BATCH),
            state: vec![0; state_words],
        }
    }

    /// Begins a batch.
    #[inline]
    pub(crate) fn start_batch(&mut self) {
        (self.slots, self.cells) = (0, 0);
    }

    /// Forgets the slots of announced frames, because the tables may have moved.
    pub(crate) fn forget(&mut self) {
        self.announced.clear();
    }

    /// Prefetches for the frames after a position of the batch, which is a multiple of [`STEP`].
    ///
    /// # Safety
    ///
    /// The code's views in the context and `registers` must be those of its objects now.
    pub(crate) unsafe fn prefetch(
        &mut self,
        code: &Code,
        context: &mut Context,
        registers: &[*mut u8],
        batch: &Batch<'_>,
        position: usize,
    ) {
        let Some((prefetch, function)) = &code.prefetch else { return };
        let until = (position + SLOT_DISTANCE).min(batch.frames.len());
        while self.slots < until && position.is_multiple_of(GROUP) {
            let first = self.slots % BATCH;
            let count = (until - self.slots).min(GROUP);
            let frames = &batch.frames[self.slots..self.slots + count];
            for (ahead, bytes) in self.frames[first..].iter_mut().zip(frames) {
                *ahead = ahead_of(bytes, batch.port);
            }
            // SAFETY: the caller's obligation.
            unsafe { self.compute_slots(code, *function, context, first, count) };
            self.slots += count;
        }
        let until = (position + CELL_DISTANCE).min(self.slots);
        for position in self.cells..until {
            let slot = self.frames[position % BATCH].slot;
            // SAFETY: the slot was computed in this batch. Within a batch only packets change
            // tables and registers, and they do not move them.
            unsafe { prefetch.prefetch_cells(slot, registers) };
        }
        self.cells = self.cells.max(until);
    }

    /// Prefetches the slots of these frames, and the cells of those that were announced before
    /// them.
    ///
    /// # Safety
    ///
    /// As [`Lookahead::prefetch`].
    pub(crate) unsafe fn announce(
        &mut self,
        code: &Code,
        context: &mut Context,
        registers: &[*mut u8],
        frames: &[Frame<'_>],
    ) {
        let Some((prefetch, function)) = &code.prefetch else { return };
        // The slots of the previous call are in the caches by now.
        for slot in self.announced.drain(..) {
            // SAFETY: the slot was computed below, and `forget` is called when slots may have
            // moved.
            unsafe { prefetch.prefetch_cells(slot, registers) };
        }
        let count = frames.len().min(BATCH);
        for (ahead, frame) in self.frames.iter_mut().zip(frames) {
            *ahead = ahead_of(frame.bytes, frame.port);
        }
        // SAFETY: the caller's obligation.
        unsafe { self.compute_slots(code, *function, context, 0, count) };
        self.announced.extend(self.frames[..count].iter().map(|ahead| ahead.slot));
    }

    /// Computes and prefetches the slots of `count` frames from `first` on.
    unsafe fn compute_slots(
        &mut self,
        code: &Code,
        function: usize,
        context: &mut Context,
        first: usize,
        count: usize,
    ) {
        let frames = &mut self.frames[first..first + count];
        (context.ahead, context.ahead_count) = (frames.as_mut_ptr(), count as u64);
        let state = std::mem::replace(&mut context.state, self.state.as_mut_ptr());
        // SAFETY: the caller has set the views; the frames are those above, and their bytes live as
        // long as the batch. The function reads nothing else.
        unsafe { code.machine.call(function, context) };
        context.state = state;
        for ahead in frames {
            Prefetch::prefetch_slot(ahead.slot);
        }
    }
}

#[inline]
fn ahead_of(bytes: &[u8], port: u16) -> Ahead {
    Ahead {
        frame: bytes.as_ptr(),
        length: bytes.len() as u64,
        port: u64::from(port),
        slot: std::ptr::null(),
    }
}
