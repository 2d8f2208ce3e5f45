//! The layers of switches with entries.

use std::ops::{Index, IndexMut};

use netkv_wire::FrameView;

/// The layer of switches in which a copy of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The switch that all frames from and to the server pass.
    Lower,
    /// Switches that only some of them pass.
    Upper,
}

impl Layer {
    pub(crate) const ALL: [Self; 2] = [Self::Lower, Self::Upper];

    /// The layer that a frame is about.
    pub(super) fn of(frame: &FrameView<'_>) -> Self {
        Self::from(frame.upper())
    }
}

impl From<bool> for Layer {
    fn from(upper: bool) -> Self {
        if upper { Self::Upper } else { Self::Lower }
    }
}

/// A value for each layer.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerLayer<T>([T; 2]);

impl<T: Copy + Default> PerLayer<T> {
    /// The value for one layer, and the default for the other.
    pub(crate) fn only(layer: Layer, value: T) -> Self {
        let mut all = Self::default();
        all[layer] = value;
        all
    }
}

impl<T> PerLayer<Option<T>> {
    pub(crate) fn is_none(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl<T> Index<Layer> for PerLayer<T> {
    type Output = T;

    fn index(&self, layer: Layer) -> &T {
        &self.0[layer as usize]
    }
}

impl<T> IndexMut<Layer> for PerLayer<T> {
    fn index_mut(&mut self, layer: Layer) -> &mut T {
        &mut self.0[layer as usize]
    }
}
