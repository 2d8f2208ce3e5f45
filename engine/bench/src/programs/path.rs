//! The paths of a switch with a cache: what enters, and what becomes of it.

use super::subject::{Subject, no_path};
use crate::case::{ALL_KINDS, Case};
use crate::error::BenchError;

/// The sampling threshold at which all requests are sampled.
const ALL: u32 = 65_536;
/// A hot-key threshold that no estimate reaches within a round.
const NEVER_HOT: u16 = 0xffff;

/// Which requests are counted, and which keys are hot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    /// This many of 65,536 requests are counted.
    pub below: u32,
    /// An uncached key with this estimate is hot.
    pub hot_threshold: u16,
}

/// The sampling for frames of all kinds.
const SAMPLING_OF_ALL_KINDS: Sampling = Sampling { below: 40_000, hot_threshold: 3 };

/// One path: the kind of frames, and their result.
pub(super) struct Path<Frame> {
    pub name: &'static str,
    pub frame: Frame,
    pub cached: bool,
    /// Whether all requests are counted or none: for the entry, or in the Count-Min sketch.
    pub sampled: bool,
}

impl<Frame> Path<Frame> {
    /// The path of the case among those of a subject.
    pub fn of<'a>(
        paths: &'a [Self],
        case: &Case,
        subject: &dyn Subject,
    ) -> Result<&'a Self, BenchError> {
        paths.iter().find(|path| path.name == case.path).ok_or_else(|| no_path(case, subject))
    }

    /// The sampling of a case.
    pub fn sampling(
        paths: &[Self],
        case: &Case,
        subject: &dyn Subject,
    ) -> Result<Sampling, BenchError> {
        if case.path == ALL_KINDS {
            return Ok(SAMPLING_OF_ALL_KINDS);
        }
        let path = Self::of(paths, case, subject)?;
        let below = if path.sampled { ALL } else { 0 };
        Ok(Sampling { below, hot_threshold: NEVER_HOT })
    }
}
