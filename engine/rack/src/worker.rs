//! The thread of a node: it runs until it is stopped, and reports errors and panics to its owner.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::lock::lock;
use crate::sys::{self, Waker};

/// The state that a node's thread and its owner share.
pub struct Signals {
    /// Wakes the thread; the thread watches and clears it.
    pub waker: Waker,
    stop: AtomicBool,
    failure: Mutex<Option<String>>,
    /// The kernel's id of the thread, once it runs.
    thread: OnceLock<u32>,
}

impl Signals {
    /// True once the thread should end.
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Asks the thread to end.
    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Why the thread has ended by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }
}

/// The thread of a node; ends with its owner.
pub struct Worker {
    signals: Arc<Signals>,
    thread: Mutex<Thread>,
}

enum Thread {
    NotStarted,
    Running(JoinHandle<()>),
    Ended,
}

impl Worker {
    /// A worker without a thread yet.
    pub fn new() -> io::Result<Self> {
        let signals = Signals {
            waker: Waker::new()?,
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            thread: OnceLock::new(),
        };
        Ok(Self { signals: Arc::new(signals), thread: Mutex::new(Thread::NotStarted) })
    }

    /// The state that thread and owner share.
    pub fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Starts the thread, which runs `body`, then `after`, even if `body` panics. A second call is
    /// an error.
    pub fn start(
        &self,
        name: &str,
        body: impl FnOnce(&Signals) -> io::Result<()> + Send + 'static,
        after: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let mut thread = lock(&self.thread);
        if !matches!(*thread, Thread::NotStarted) {
            return Err(io::Error::other(format!(
                "The {name} was started before; make a new one to start it again."
            )));
        }
        let signals = Arc::clone(&self.signals);
        let owner = name.to_owned();
        let run = move || {
            sys::exact_timers();
            let _ = signals.thread.set(sys::thread_id());
            let end = catch_unwind(AssertUnwindSafe(|| body(&signals)));
            let failure = match end {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(format!("The {owner} has stopped: {error}.")),
                Err(panic) => Some(format!(
                    "The {owner} has stopped because of an error in netkv: {}.",
                    panic_text(panic.as_ref())
                )),
            };
            *lock(&signals.failure) = failure;
            after();
        };
        *thread = Thread::Running(std::thread::Builder::new().name(name.to_owned()).spawn(run)?);
        Ok(())
    }

    /// The kernel's id of the thread, once it runs.
    pub fn id(&self) -> Option<u32> {
        self.signals.thread.get().copied()
    }

    /// Processor time of the thread; 0 when it does not run.
    pub fn cpu_time(&self) -> Duration {
        self.signals.thread.get().and_then(|&thread| sys::cpu_time(thread)).unwrap_or_default()
    }

    /// Asks the thread to end, and does not wait for it.
    pub fn request_stop(&self) {
        self.signals.request_stop();
    }

    /// Ends the thread and waits until it has ended; a second call does nothing.
    pub fn stop(&self) {
        self.request_stop();
        let thread = std::mem::replace(&mut *lock(&self.thread), Thread::Ended);
        if let Thread::Running(thread) = thread {
            // The thread catches its panics, so `join` cannot fail.
            let _ = thread.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_panic_in_the_loop_is_reported_to_the_owner() {
        let (sender, ended) = mpsc::channel();
        let worker = Worker::new().unwrap();
        worker
            .start("test loop", |_| panic!("cell {} is gone", 7), move || sender.send(()).unwrap())
            .unwrap();
        ended.recv().unwrap();
        assert_eq!(
            worker.signals().failure().unwrap(),
            "The test loop has stopped because of an error in netkv: cell 7 is gone."
        );
        worker.stop();
    }

    #[test]
    fn stop_ends_a_waiting_thread() {
        let worker = Worker::new().unwrap();
        let body = |signals: &Signals| {
            let mut poller = sys::Poller::new()?;
            poller.watch(&signals.waker, 0)?;
            while !signals.stopping() {
                poller.wait(None)?.count();
            }
            Ok(())
        };
        worker.start("test loop", body, || {}).unwrap();
        worker.stop();
        worker.stop();
        assert_eq!(worker.signals().failure(), None);
    }
}
