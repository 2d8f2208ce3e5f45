//! The differential fuzzer, and functions that record packet tests from the engine's output.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{SwitchOptions, stf};
use netkv_difftest::{
    Campaign, Executors, Medium, Progress, SubjectProgram, recorded_in_stf, resident_bytes,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::bundle::{engine_of, program_of};
use crate::json;

/// Frames with their ports.
type Frames = Vec<(u16, Vec<u8>)>;

/// A run of the differential fuzzer; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct Fuzzer {
    campaign: Arc<Campaign>,
    progress: Arc<Progress>,
    running: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    memory_at_start: Option<u64>,
}

#[pymethods]
impl Fuzzer {
    #[new]
    #[pyo3(signature = (programs, generated, seed, seeds, seconds, packets, threads))]
    fn new(
        programs: Vec<(String, Vec<u8>, Option<String>, String)>,
        generated: bool,
        seed: u64,
        seeds: Option<u64>,
        seconds: Option<f64>,
        packets: usize,
        threads: usize,
    ) -> PyResult<Self> {
        let subject = |(name, bundle, source, stf): (String, Vec<u8>, Option<String>, String)| {
            let program = program_of(&bundle)?;
            Ok(SubjectProgram { name, program, source, recorded: recorded_in_stf(&stf) })
        };
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let campaign = Campaign {
            subjects: programs.into_iter().map(subject).collect::<PyResult<_>>()?,
            generated,
            first_seed: seed,
            seeds,
            time: time.map_err(|_| PyValueError::new_err("The seconds must not be negative."))?,
            packets,
            threads,
        };
        Ok(Self {
            campaign: Arc::new(campaign),
            progress: Arc::default(),
            running: Arc::new(AtomicBool::new(true)),
            thread: Mutex::new(None),
            memory_at_start: resident_bytes(),
        })
    }

    fn start(&self) {
        let (campaign, progress) = (Arc::clone(&self.campaign), Arc::clone(&self.progress));
        let running = Arc::clone(&self.running);
        let thread = std::thread::spawn(move || {
            campaign.run(&Executors::interpreter_and_compiled(), &progress);
            running.store(false, Ordering::Release);
        });
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    fn stop(&self, py: Python<'_>) {
        self.progress.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The thread has already printed its panic.
            let _ = py.detach(|| thread.join());
        }
    }

    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let running = self.running.load(Ordering::Acquire);
        let findings: Vec<_> = self
            .progress
            .findings()
            .into_iter()
            .map(|found| {
                json!({
                    "program": found.program,
                    "seed": found.seed,
                    "summary": found.summary,
                    "report": found.report,
                })
            })
            .collect();
        let document = json!({
            "running": running,
            "cases": count(&self.progress.cases),
            "of": self.campaign.cases(),
            "generated_programs": count(&self.progress.programs),
            "packets": count(&self.progress.packets),
            "frames_out": count(&self.progress.frames_out),
            "memory_bytes": { "start": self.memory_at_start, "now": resident_bytes() },
            "findings": findings,
        });
        json::to_python(py, &document)
    }
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn generate_p4(seed: u64) -> String {
    netkv_difftest::program::generate_portable(seed)
}

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn stf_frames(text: &str, name: &str) -> PyResult<Frames> {
    stf::frames(text, name).map_err(value_error)
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn sample_packets(
    py: Python<'_>,
    bundle: &[u8],
    seed: u64,
    count: usize,
    p4runtime: bool,
) -> PyResult<(String, Frames)> {
    let program = program_of(bundle)?;
    let medium = if p4runtime { Medium::P4Runtime } else { Medium::Stf };
    Ok(py.detach(|| netkv_difftest::sample(&program, seed, count, medium)))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn record_stf(
    py: Python<'_>,
    bundle: &[u8],
    setup: &str,
    frames: Frames,
    name: &str,
) -> PyResult<String> {
    let mut switch = engine_of(bundle, SwitchOptions::default(), ExecutorKind::Interpreter)?;
    py.detach(|| stf::record(&mut switch, setup, &frames, name)).map_err(value_error)
}
