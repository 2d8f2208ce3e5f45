//! Digests as Python objects.

use netkv_dataplane::DigestMessage;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::values::params_out;

/// A list of (digest id, values).
pub fn digests_out<'py>(
    py: Python<'py>,
    digests: &[DigestMessage],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for digest in digests {
        list.append((digest.digest_id, params_out(py, &digest.values)?))?;
    }
    Ok(list)
}
