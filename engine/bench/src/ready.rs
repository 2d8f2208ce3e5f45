//! A filled switch for others to drive: the end-to-end benchmark puts sockets around it.

use netkv_dataplane::Switch;

use crate::case::{Case, Executor};
use crate::check::all_alike;
use crate::contender::Contender;
use crate::error::BenchError;
use crate::programs::{self, subject};
use crate::traffic::Traffic;

/// The switch of a case, filled, and the frames that take the path; they have been tried.
///
/// # Errors
///
/// As [`crate::measure`]; or the case asks for the pipeline by hand, which is no switch.
pub fn ready(case: &Case, executor: Executor) -> Result<(Switch, Traffic), BenchError> {
    let subject = subject(&case.program)?;
    let traffic = subject.traffic(case)?;
    let program = programs::program(case)?;
    let mut contenders: Vec<Contender> =
        Contender::new(executor, case, subject, &program)?.into_iter().collect();
    all_alike(case, subject, &traffic, &mut contenders)?;
    let switch = contenders.pop().and_then(Contender::into_switch).ok_or_else(|| {
        BenchError::new(format!("The executor '{}' is no switch.", executor.name()))
    })?;
    Ok((switch, traffic))
}
