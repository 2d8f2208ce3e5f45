//! A closed-loop load for benchmarks: it sends given requests repeatedly, with a fixed window of
//! outstanding ones. It uses little processor time, to measure the other side; the load generator
//! of scenarios, with popularity, timing and checks, is [`crate::client`].

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::sys::{self, BATCH, Carrier, Link, Plug, Poller, Received, Sender};

/// After this time without any reply the outstanding requests are lost.
const REPLY_TIMEOUT: Duration = Duration::from_millis(100);
/// After this time without any reply a connection has failed.
const STREAM_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum latency that the histogram distinguishes, in nanoseconds.
const MAX_LATENCY_NS: u64 = 60_000_000_000;
/// Maximum number of bytes of one read from a connection.
const READ: usize = 1 << 18;

/// The requests of a load, and the size of their replies.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    bytes: Vec<u8>,
    ranges: Vec<(usize, usize)>,
    reply_bytes: usize,
}

impl Requests {
    /// Requests that are sent in this order; each reply has `reply_bytes` bytes.
    ///
    /// # Errors
    ///
    /// No requests, or empty replies.
    pub fn new<'a>(
        requests: impl IntoIterator<Item = &'a [u8]>,
        reply_bytes: usize,
    ) -> Result<Self, String> {
        let mut all = Self { reply_bytes, ..Self::default() };
        for request in requests {
            let start = all.bytes.len();
            all.bytes.extend_from_slice(request);
            all.ranges.push((start, all.bytes.len()));
        }
        if all.ranges.is_empty() || reply_bytes == 0 {
            return Err("A load needs at least one request, and replies of 1 byte or more.".into());
        }
        Ok(all)
    }

    /// Whether to send now: only if a batch or a quarter of the window fits, so that a system call
    /// sends many requests.
    fn may_send(window: usize, outstanding: usize) -> bool {
        window.saturating_sub(outstanding) >= BATCH.min(window / 4).max(1)
    }

    /// The requests from `next` on: at most `limit`, and not beyond the last one. Advances `next`.
    fn take(&self, next: &mut usize, limit: usize) -> &[(usize, usize)] {
        let start = *next;
        let end = self.ranges.len().min(start + limit);
        *next = if end == self.ranges.len() { 0 } else { end };
        &self.ranges[start..end]
    }
}

/// The result of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// Replies of the right size.
    pub replies: u64,
    /// Replies of another size.
    pub wrong: u64,
    /// Requests without a reply.
    pub lost: u64,
    /// Duration of the load.
    pub elapsed: Duration,
    /// Processor time of the load itself.
    pub cpu: Duration,
    /// Median and 99th percentile of the latency, if the window is 1.
    pub latency: Option<(Duration, Duration)>,
}

/// Measures a run: time, processor time, and latency if the window is 1.
struct Meter {
    start: Instant,
    duration: Duration,
    cpu: Duration,
    latency: Option<Histogram<u64>>,
    report: Report,
}

impl Meter {
    fn new(window: usize, duration: Duration) -> Self {
        let latency = (window == 1).then(|| {
            Histogram::new_with_bounds(1, MAX_LATENCY_NS, 3).expect("3 digits are possible")
        });
        let (cpu, report) = (thread_cpu(), Report::default());
        Self { start: Instant::now(), duration, cpu, latency, report }
    }

    fn is_running(&self) -> bool {
        self.start.elapsed() < self.duration
    }

    fn answered(&mut self, since: Instant) {
        if let Some(latency) = &mut self.latency {
            latency.saturating_record(since.elapsed().as_nanos() as u64);
        }
    }

    fn report(self) -> Report {
        let at = |histogram: &Histogram<u64>, quantile| {
            Duration::from_nanos(histogram.value_at_quantile(quantile))
        };
        Report {
            elapsed: self.start.elapsed(),
            cpu: thread_cpu().saturating_sub(self.cpu),
            latency: self
                .latency
                .filter(|histogram| !histogram.is_empty())
                .map(|histogram| (at(&histogram, 0.5), at(&histogram, 0.99))),
            ..self.report
        }
    }
}

fn thread_cpu() -> Duration {
    sys::cpu_time(sys::thread_id()).unwrap_or_default()
}

/// A load of datagrams, sent like those of a client at a switch port.
pub struct DatagramLoad {
    link: Link,
    requests: Requests,
}

impl DatagramLoad {
    /// Opens the link to the port; errors are sentences.
    pub fn new(plug: &Plug, requests: Requests) -> io::Result<Self> {
        Ok(Self { link: Link::open("the load", plug)?, requests })
    }

    /// Keeps `window` requests outstanding for `duration`.
    ///
    /// # Errors
    ///
    /// A system call failed.
    pub fn run(&self, window: usize, duration: Duration) -> io::Result<Report> {
        let (mut received, mut sender) = (Received::default(), Sender::default());
        let mut poller = Poller::new()?;
        poller.watch(&self.link, 0)?;
        while self.link.receive(&mut received)? > 0 {} // late replies of an earlier run
        let mut meter = Meter::new(window, duration);
        let (mut next, mut outstanding) = (0, 0);
        while meter.is_running() {
            let since = Instant::now();
            while Requests::may_send(window, outstanding) {
                let batch = self.requests.take(&mut next, BATCH.min(window - outstanding));
                let sent = self.link.transmit(&mut sender, &self.requests.bytes, batch);
                outstanding += sent.frames as usize;
                if sent.dropped > 0 {
                    break;
                }
            }
            if poller.wait(Some(REPLY_TIMEOUT))?.count() == 0 {
                meter.report.lost += outstanding as u64;
                outstanding = 0;
                continue;
            }
            let count = self.link.receive(&mut received)?;
            if count > 0 {
                meter.answered(since);
            }
            let size = Some(self.requests.reply_bytes);
            let right = received.frames().filter(|frame| frame.map(<[u8]>::len) == size).count();
            meter.report.replies += right as u64;
            meter.report.wrong += (count - right) as u64;
            outstanding = outstanding.saturating_sub(count);
        }
        Ok(meter.report())
    }
}

/// A load of pipelined requests on one TCP connection, to measure a store without a switch.
pub struct StreamLoad {
    stream: TcpStream,
    requests: Requests,
}

impl StreamLoad {
    /// Connects; errors are sentences.
    pub fn new(peer: SocketAddrV4, requests: Requests) -> io::Result<Self> {
        let stream = TcpStream::connect(peer).map_err(|error| {
            io::Error::new(error.kind(), format!("the load cannot connect to {peer}: {error}"))
        })?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(STREAM_TIMEOUT))?;
        Ok(Self { stream, requests })
    }

    /// Keeps `window` requests outstanding for `duration`, then waits for the last reply.
    ///
    /// # Errors
    ///
    /// The connection has ended or timed out, or replies are too long.
    pub fn run(&mut self, window: usize, duration: Duration) -> io::Result<Report> {
        let mut buffer = vec![0; READ];
        let mut meter = Meter::new(window, duration);
        // `partial` is the number of bytes of an incomplete reply.
        let (mut next, mut outstanding, mut partial) = (0, 0, 0);
        while outstanding > 0 || meter.is_running() {
            let since = Instant::now();
            while Requests::may_send(window, outstanding) && meter.is_running() {
                let batch = self.requests.take(&mut next, BATCH.min(window - outstanding));
                let (start, end) = (batch[0].0, batch[batch.len() - 1].1);
                self.stream.write_all(&self.requests.bytes[start..end])?;
                outstanding += batch.len();
            }
            if outstanding == 0 {
                break;
            }
            match self.stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => partial += read,
            }
            let replies = partial / self.requests.reply_bytes;
            partial %= self.requests.reply_bytes;
            if replies > 0 {
                meter.answered(since);
            }
            if replies > outstanding {
                return Err(io::Error::other(format!(
                    "the server has sent more than {} bytes for a request",
                    self.requests.reply_bytes
                )));
            }
            meter.report.replies += replies as u64;
            outstanding -= replies;
        }
        Ok(meter.report())
    }
}
