//! Selects the pipelines that a control-plane request reads and writes.

use std::ops::Range;

use netkv_ir::Program;

use crate::error::{ControlCode, ControlError};
use crate::objects::Objects;
use crate::switch::Switch;

/// Read access to the program and the objects of one pipeline.
#[derive(Clone, Copy)]
pub(super) struct PipelineView<'a> {
    pub(super) program: &'a Program,
    pub(super) objects: &'a Objects,
}

/// A switch with one selected pipeline. Dropping it selects all pipelines again.
struct PipelineSelection<'a>(&'a mut Switch);

impl Drop for PipelineSelection<'_> {
    fn drop(&mut self) {
        self.0.selected_pipeline = None;
    }
}

impl Switch {
    /// Runs `work` with one pipeline selected. Its writes and reads concern this pipeline only,
    /// except those of multicast groups and clone sessions, which the pipelines share.
    ///
    /// # Errors
    ///
    /// `OutOfRange` if there is no such pipeline, and the errors of `work`.
    pub fn in_pipeline<T>(
        &mut self,
        pipeline: usize,
        work: impl FnOnce(&mut Self) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let count = self.pipelines.count();
        if pipeline >= count {
            let text = match count {
                1 => format!("The switch has one pipeline, so there is no pipeline {pipeline}."),
                _ => format!(
                    "The switch has {count} pipelines, from 0, so there is no pipeline {pipeline}."
                ),
            };
            return Err(ControlError::new(ControlCode::OutOfRange, text));
        }
        self.selected_pipeline = Some(pipeline);
        let only = PipelineSelection(self);
        work(only.0)
    }

    /// The selected pipelines, in order; at least one.
    pub(super) fn selected_pipelines(&self) -> Range<usize> {
        self.selected_pipeline.map_or(self.pipelines.range(), |pipeline| pipeline..pipeline + 1)
    }

    pub(super) fn views(&self) -> impl Iterator<Item = PipelineView<'_>> {
        let pipelines = self.selected_pipelines().map(|pipeline| &self.pipelines[pipeline]);
        pipelines.map(|pipe| PipelineView { program: &self.program, objects: &pipe.objects })
    }

    /// The pipeline that requests read. All have the same objects, unless the control plane wrote
    /// to one pipeline at a time.
    pub(super) fn view(&self) -> PipelineView<'_> {
        let objects = &self.pipelines[self.selected_pipelines().start].objects;
        PipelineView { program: &self.program, objects }
    }

    /// Checks a write in all selected pipelines, and then changes one after the other. If a check
    /// fails, no pipeline changes.
    pub(super) fn write<C>(
        &mut self,
        check: impl Fn(PipelineView<'_>) -> Result<C, ControlError>,
        mut change: impl FnMut(&mut Objects, C),
    ) -> Result<(), ControlError> {
        let changes = self.views().map(check).collect::<Result<Vec<C>, _>>()?;
        for (pipeline, what) in self.selected_pipelines().zip(changes) {
            change(&mut self.pipelines[pipeline].objects, what);
        }
        Ok(())
    }
}
