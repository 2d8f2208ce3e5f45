//! Conversions between the tuples of `_engine.pyi` and matches, actions and values of the data
//! plane.

use netkv_dataplane::{EntryAction, WeightedAction};
use netkv_ir::{Match, MatchKind, Program, TableKey, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::errors::control_error;

/// Parameters of an action, from Python.
pub type Params = Vec<Vec<u8>>;

/// Big-endian bytes without leading zeros, at least one.
pub fn bytes_of(value: &Value) -> Vec<u8> {
    let bytes = value.to_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes[zeros.min(bytes.len().saturating_sub(1))..].to_vec()
}

/// The value in `bytes`; the number of bits that it needs if these are more than `width`.
pub fn fits(width: u32, bytes: &[u8]) -> Result<Value, u32> {
    let significant = bytes.iter().position(|byte| *byte != 0).map_or(&[][..], |at| &bytes[at..]);
    let bits = match significant.first() {
        None => 0,
        Some(first) => significant.len() as u32 * 8 - first.leading_zeros(),
    };
    if bits > width { Err(bits) } else { Ok(Value::from_bytes(width, significant)) }
}

/// As [`fits`], with a ControlError.
pub fn value_of(py: Python<'_>, width: u32, bytes: &[u8], what: &str) -> PyResult<Value> {
    fits(width, bytes).map_err(|bits| {
        let text = format!("{what} has {width} bits, but the value given needs {bits}.");
        control_error(py, "OUT_OF_RANGE", text)
    })
}

/// The keys that entries of a table match on, in order of their ids; none for an unknown table,
/// which the switch then refuses.
pub fn keys_of_table(program: &Program, table_id: u32) -> Vec<TableKey> {
    let table = program.tables.iter().find(|table| table.identity.id == table_id);
    let keys = table.map_or(&[][..], |table| &table.keys);
    keys.iter().filter(|key| key.kind != MatchKind::Selector).cloned().collect()
}

fn match_error(tuple: &Bound<'_, PyAny>) -> PyErr {
    let shown = tuple.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    PyValueError::new_err(format!(
        "{shown} is not a match: (field_id, 'exact' | 'optional', value), (field_id, 'lpm', value, \
         prefix_len), (field_id, 'ternary', value, mask) or (field_id, 'range', low, high)."
    ))
}

/// Converts matches from Python.
pub fn matches_of(
    py: Python<'_>,
    keys: &[TableKey],
    tuples: &[Bound<'_, PyAny>],
) -> PyResult<Vec<(u32, Match)>> {
    tuples.iter().map(|tuple| match_of(py, keys, tuple)).collect()
}

fn match_of(
    py: Python<'_>,
    keys: &[TableKey],
    object: &Bound<'_, PyAny>,
) -> PyResult<(u32, Match)> {
    let tuple = object.cast::<PyTuple>().map_err(|_| match_error(object))?;
    let wrong = |_: PyErr| match_error(object);
    let field: u32 = tuple.get_item(0).and_then(|item| item.extract()).map_err(wrong)?;
    let kind: String = tuple.get_item(1).and_then(|item| item.extract()).map_err(wrong)?;
    let bytes = |at: usize| -> PyResult<Vec<u8>> {
        tuple.get_item(at).and_then(|item| item.extract()).map_err(wrong)
    };
    let key = (field as usize).checked_sub(1).and_then(|at| keys.get(at));
    let value = |at: usize| -> PyResult<Value> {
        let bytes = bytes(at)?;
        match key {
            Some(key) => value_of(py, key.width, &bytes, &format!("Match field '{}'", key.name)),
            // The switch refuses the field by its id; its width does not matter.
            None => Ok(Value::from_bytes(bytes.len() as u32 * 8, &bytes)),
        }
    };
    let one = match (kind.as_str(), tuple.len()) {
        ("exact", 3) => Match::Exact(value(2)?),
        ("optional", 3) => Match::Optional(Some(value(2)?)),
        ("lpm", 4) => {
            let prefix = tuple.get_item(3).and_then(|item| item.extract()).map_err(wrong)?;
            Match::Lpm(value(2)?, prefix)
        }
        ("ternary", 4) => Match::Ternary(value(2)?, value(3)?),
        ("range", 4) => Match::Range(value(2)?, value(3)?),
        _ => return Err(match_error(object)),
    };
    Ok((field, one))
}

/// Converts matches to Python.
pub fn matches_out<'py>(py: Python<'py>, matches: &[(u32, Match)]) -> PyResult<Bound<'py, PyList>> {
    let bytes = |value: &Value| PyBytes::new(py, &bytes_of(value));
    let list = PyList::empty(py);
    for (field, one) in matches {
        list.append(match one {
            Match::Exact(value) => (field, "exact", bytes(value)).into_bound_py_any(py)?,
            Match::Lpm(value, prefix) => {
                (field, "lpm", bytes(value), prefix).into_bound_py_any(py)?
            }
            Match::Ternary(value, mask) => {
                (field, "ternary", bytes(value), bytes(mask)).into_bound_py_any(py)?
            }
            Match::Range(low, high) => {
                (field, "range", bytes(low), bytes(high)).into_bound_py_any(py)?
            }
            Match::Optional(Some(value)) => {
                (field, "optional", bytes(value)).into_bound_py_any(py)?
            }
            Match::Optional(None) => continue,
        })?;
    }
    Ok(list)
}

/// Converts parameters from Python, with the widths of their action. The switch refuses a wrong
/// number of them.
pub fn params_of(
    py: Python<'_>,
    program: &Program,
    action_id: u32,
    params: &[Vec<u8>],
) -> PyResult<Vec<Value>> {
    let action = program.actions.iter().find(|action| action.identity.id == action_id);
    let declared = action.map_or(&[][..], |action| &action.params);
    params
        .iter()
        .enumerate()
        .map(|(at, bytes)| match declared.get(at) {
            Some(param) => value_of(py, param.width, bytes, &format!("Parameter '{}'", param.name)),
            None => Ok(Value::from_bytes(bytes.len() as u32 * 8, bytes)),
        })
        .collect()
}

/// Converts parameters to Python.
pub fn params_out<'py>(py: Python<'py>, params: &[Value]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, params.iter().map(|value| PyBytes::new(py, &bytes_of(value))))
}

/// Converts the action of an entry from Python.
pub fn action_of(
    py: Python<'_>,
    program: &Program,
    object: &Bound<'_, PyAny>,
) -> PyResult<EntryAction> {
    let wrong = |_: PyErr| {
        let shown = object.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!(
            "{shown} is not an action: ('action', action_id, params), ('member', id), \
             ('group', id) or ('oneshot', [(action_id, params, weight), ...])."
        ))
    };
    let kind: String = object.get_item(0).and_then(|item| item.extract()).map_err(wrong)?;
    let id = || object.get_item(1).and_then(|item| item.extract::<u32>()).map_err(wrong);
    match kind.as_str() {
        "action" => {
            let action_id = id()?;
            let params: Params =
                object.get_item(2).and_then(|item| item.extract()).map_err(wrong)?;
            let params = params_of(py, program, action_id, &params)?;
            Ok(EntryAction::Direct { action_id, params })
        }
        "member" => id().map(EntryAction::Member),
        "group" => id().map(EntryAction::Group),
        "oneshot" => {
            let actions: Vec<(u32, Params, u32)> =
                object.get_item(1).and_then(|item| item.extract()).map_err(wrong)?;
            let weighted = actions.iter().map(|(action_id, params, weight)| {
                let params = params_of(py, program, *action_id, params)?;
                Ok(WeightedAction { action_id: *action_id, params, weight: *weight })
            });
            weighted.collect::<PyResult<_>>().map(EntryAction::OneShot)
        }
        _ => Err(wrong(PyValueError::new_err(""))),
    }
}

/// Converts the action of an entry to Python.
pub fn action_out<'py>(py: Python<'py>, action: &EntryAction) -> PyResult<Bound<'py, PyAny>> {
    match action {
        EntryAction::Direct { action_id, params } => {
            ("action", action_id, params_out(py, params)?).into_bound_py_any(py)
        }
        EntryAction::Member(id) => ("member", id).into_bound_py_any(py),
        EntryAction::Group(id) => ("group", id).into_bound_py_any(py),
        EntryAction::OneShot(actions) => {
            let list = PyList::empty(py);
            for action in actions {
                list.append((action.action_id, params_out(py, &action.params)?, action.weight))?;
            }
            ("oneshot", list).into_bound_py_any(py)
        }
    }
}
