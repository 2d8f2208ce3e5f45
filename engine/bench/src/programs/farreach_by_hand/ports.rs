//! Where replies leave, and which ingress pipelines have passed the snapshot point.

const PORTS: usize = 512;
const PIPELINES: usize = 256;

/// What writes and replies of servers do that arrive by an ingress pipeline.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) enum Snapshot {
    #[default]
    Idle,
    /// They are redirected through pipeline 0.
    Redirect,
    /// They are after the snapshot point of this snapshot.
    Taking(u32),
}

/// How a frame has arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// By which port.
    pub port: u16,
    /// By which port it has entered ingress: 0 if it was redirected.
    pub ingress_port: u16,
    /// The snapshot in progress; 0 for none.
    pub snapshot: u32,
}

pub(super) struct Ports {
    /// The ports of the clone sessions, by number.
    sessions: Box<[Option<u16>]>,
    pipelines: Box<[u8]>,
    snapshots: Box<[Snapshot]>,
}

impl Ports {
    pub(super) fn new() -> Self {
        Self {
            sessions: vec![None; PORTS].into(),
            pipelines: vec![0; PORTS].into(),
            snapshots: vec![Snapshot::Idle; PIPELINES].into(),
        }
    }

    /// Lets replies leave by a port.
    pub(super) fn insert_session(&mut self, port: u16) {
        self.sessions[usize::from(port)] = Some(port);
    }

    /// Sets the ingress pipeline of a port, and the part of a snapshot that it takes.
    pub(super) fn set_pipeline(&mut self, port: u16, pipeline: u8, snapshot: Snapshot) {
        self.pipelines[usize::from(port)] = pipeline;
        self.snapshots[usize::from(pipeline)] = snapshot;
    }

    /// The port by which replies leave that go back to `port`.
    #[inline]
    pub(super) fn reply_port(&self, port: u16) -> Option<u16> {
        self.sessions[usize::from(port)]
    }

    /// How a write or a reply of a server arrives by a port.
    #[inline]
    pub(super) fn arrival(&self, port: u16) -> Arrival {
        let snapshot = |pipeline: u8| self.snapshots[usize::from(pipeline)];
        let (snapshot, ingress_port) = match snapshot(self.pipelines[usize::from(port)]) {
            Snapshot::Redirect => (snapshot(0), 0),
            other => (other, port),
        };
        let snapshot = if let Snapshot::Taking(number) = snapshot { number } else { 0 };
        Arrival { port, ingress_port, snapshot }
    }
}
