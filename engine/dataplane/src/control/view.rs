//! The pipelines that a request is for.

use std::ops::Range;

use netkv_ir::Program;

use crate::error::{ControlCode, ControlError};
use crate::objects::Objects;
use crate::switch::Switch;

/// One pipeline, to check requests against and to read from.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) program: &'a Program,
    pub(super) objects: &'a Objects,
}

/// A switch of which the control plane means one pipeline, until it is dropped.
struct Only<'a>(&'a mut Switch);

impl Drop for Only<'_> {
    fn drop(&mut self) {
        self.0.only = None;
    }
}

impl Switch {
    /// Does something with one pipeline: what `work` writes is written there only, and what it
    /// reads is read from there. Multicast groups and clone sessions are the switch's all the same.
    ///
    /// # Errors
    ///
    /// `OutOfRange` when there is no such pipeline, and what `work` returns.
    pub fn in_pipeline<T>(
        &mut self,
        pipeline: usize,
        work: impl FnOnce(&mut Self) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let count = self.pipes.len();
        if pipeline >= count {
            let text = match count {
                1 => format!("The switch has one pipeline, so there is no pipeline {pipeline}."),
                _ => format!(
                    "The switch has {count} pipelines, from 0, so there is no pipeline {pipeline}."
                ),
            };
            return Err(ControlError::new(ControlCode::OutOfRange, text));
        }
        self.only = Some(pipeline);
        let only = Only(self);
        work(only.0)
    }

    /// The pipelines that a request is for, in order; at least one.
    pub(super) fn meant(&self) -> Range<usize> {
        self.only.map_or(0..self.pipes.len(), |pipeline| pipeline..pipeline + 1)
    }

    pub(super) fn views(&self) -> impl Iterator<Item = View<'_>> {
        let pipes = self.pipes[self.meant()].iter();
        pipes.map(|pipe| View { program: &self.program, objects: &pipe.objects })
    }

    /// The pipeline that is read: all have the same unless they were written one by one.
    pub(super) fn view(&self) -> View<'_> {
        let objects = &self.pipes[self.meant().start].objects;
        View { program: &self.program, objects }
    }

    /// Checks a write in all pipelines that it is for, and only then does it in one after the
    /// other: a write that is refused changes nothing anywhere.
    pub(super) fn write<C>(
        &mut self,
        check: impl Fn(View<'_>) -> Result<C, ControlError>,
        mut change: impl FnMut(&mut Objects, C),
    ) -> Result<(), ControlError> {
        let changes = self.views().map(check).collect::<Result<Vec<C>, _>>()?;
        let meant = self.meant();
        for (pipe, what) in self.pipes[meant].iter_mut().zip(changes) {
            change(&mut pipe.objects, what);
        }
        Ok(())
    }
}
