//! The names of the counters of roles, so that a metric of a name that does not exist is refused.
//!
//! They are those of a role that has done nothing, so no list of names stands beside its code;
//! `outstanding` is the load generator's.

use netkv_roles::registry::{ClientRole, ServerRole};
use netkv_roles::{Applied, ClientConfig, ClientOptions, Counts, Keyspace, ServerOptions};
use netkv_workload::Arrivals;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Names = Result<Vec<&'static str>, String>;

const KEYSPACE: Keyspace = Keyspace::of_a_rack(1);

/// The counters in samples of clients with a role; see `_engine.pyi`.
#[pyfunction]
pub fn client_counters(py: Python<'_>, role: &str) -> PyResult<Vec<&'static str>> {
    py.detach(|| of_clients(role)).map_err(PyValueError::new_err)
}

/// The counters of servers with a role; see `_engine.pyi`.
#[pyfunction]
pub fn server_counters(py: Python<'_>, role: &str) -> PyResult<Vec<&'static str>> {
    py.detach(|| of_servers(role)).map_err(PyValueError::new_err)
}

fn of_clients(role: &str) -> Names {
    let load = ClientConfig::new(1, Arrivals::Closed { outstanding: 0 });
    let options = ClientOptions { load, keyspace: KEYSPACE };
    let mut client = (ClientRole::named(role)?.users)(&options)?;
    let mut of_role = Counts::new();
    client.take_counts(&mut of_role);
    let of_generator = [("outstanding", 0)];
    let of_all = client.counts().list();
    Ok(of_all.chain(of_role).chain(of_generator).map(|(name, _)| name).collect())
}

fn of_servers(role: &str) -> Names {
    let options = ServerOptions {
        server: 0,
        keyspace: KEYSPACE,
        first_request: 1,
        epoch: 0,
        service_rate: None,
        service_queue: 1,
    };
    let server = (ServerRole::named(role)?.restore)(&options, 0, &Applied::default())?;
    Ok(server.counts().into_iter().map(|(name, _)| name).collect())
}
