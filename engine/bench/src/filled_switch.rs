//! A filled switch for the end-to-end benchmark over sockets.

use netkv_dataplane::Switch;

use crate::case::{Case, Executor};
use crate::check::check_path;
use crate::contender::Contender;
use crate::error::BenchError;
use crate::programs::{self, subject};
use crate::traffic::Traffic;

/// The filled switch of a case, and the frames that take the path in each of its pipelines. The
/// frames were checked.
///
/// # Errors
///
/// As [`crate::measure`], and for the handwritten pipeline, which is no switch.
pub fn filled_switch(
    case: &Case,
    executor: Executor,
) -> Result<(Switch, Vec<Traffic>), BenchError> {
    let subject = subject(&case.program)?;
    let traffic = subject.traffic_of_pipelines(case)?;
    let program = programs::program(case)?;
    let mut contenders = Contender::all(&[executor], case, subject, &program)?;
    for traffic in &traffic {
        check_path(case, subject, traffic, &mut contenders)?;
    }
    let switch = contenders.pop().and_then(Contender::into_switch).ok_or_else(|| {
        BenchError::new(format!("The executor '{}' is no switch.", executor.name()))
    })?;
    Ok((switch, traffic))
}
