//! The interface of the three architectures, for what they do differently.

use std::fmt::Debug;

use netkv_workload::Workload;

use super::super::Layout;
use super::{Client, ClientConfig, Operation, Part, RequestWriter};
use crate::options::ClientOptions;
use crate::{Actions, WINDOW};

/// How a client divides an operation among requests, and where it sends them.
pub trait Architecture: Debug + Sync {
    /// Divides the keys of an operation among requests, which have no numbers yet.
    fn divide(&self, operation: &mut Operation, layout: &Layout);

    /// Sends the missing part of a request.
    fn send_missing(&self, writer: &RequestWriter<'_>, part: &Part, out: &mut Actions);
}

/// Clients of this architecture, for the registry.
pub(crate) fn client(
    architecture: &'static dyn Architecture,
    options: &ClientOptions,
    workload: Workload,
) -> Result<Box<dyn crate::Client>, String> {
    let layout = Layout::of(options.keyspace);
    let load = crate::ClientConfig { window: WINDOW, ..options.load };
    let config = ClientConfig { load, architecture, layout };
    Ok(Box::new(Client::new(config, workload)?))
}
