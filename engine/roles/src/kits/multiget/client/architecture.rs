//! The interface of an architecture: what schemes of multigets do differently.

use std::fmt::Debug;

use super::operation::{Operation, Part};
use super::writer::RequestWriter;
use crate::Actions;
use crate::kits::multiget::layout::Layout;

/// How a client divides an operation among requests, and where it sends them.
pub trait Architecture: Debug + Sync {
    /// Divides the keys of an operation among requests, which have no numbers yet.
    fn divide(&self, operation: &mut Operation, layout: &Layout);

    /// Sends the missing part of a request.
    fn send_missing(&self, writer: &RequestWriter<'_>, part: &Part, out: &mut Actions);
}
