//! The paths of a switch with a cache: what enters, and what becomes of it.

use super::{Subject, no_path};
use crate::case::Case;
use crate::error::BenchError;

/// The sampling threshold at which all requests are sampled.
const ALL: u128 = 65_536;
/// A hot-key threshold that no estimate reaches within a round.
pub(super) const NEVER_HOT: u128 = 0xffff;

/// One path: the kind of frames, and their result.
pub(super) struct Path<Frame> {
    pub name: &'static str,
    pub frame: Frame,
    pub cached: bool,
    /// Whether all requests are counted or none: for the entry, or in the Count-Min sketch.
    pub sampled: bool,
}

impl<Frame> Path<Frame> {
    /// The sampling threshold of the path.
    pub fn sample_below(&self) -> u128 {
        if self.sampled { ALL } else { 0 }
    }

    /// The path of the case among those of a subject.
    pub fn of<'a>(
        paths: &'a [Self],
        case: &Case,
        subject: &dyn Subject,
    ) -> Result<&'a Self, BenchError> {
        paths.iter().find(|path| path.name == case.path).ok_or_else(|| no_path(case, subject))
    }
}
