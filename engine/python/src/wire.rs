//! The wire format for control planes and tests: its enums and constants, and conversions between
//! frames and tuples of their fields. `engine/wire` implements the format.

use netkv_rack::burst::Burst;
use netkv_wire::memcached;
use netkv_wire::{
    self as wire, CacheMetadata, FrameView, Ip, Load, Message, Op, Sequence, Slot, Stamp, Status,
};
use netkv_workload::{MAX_KEYS, MIN_VALUE_SIZE, Placement, Random};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyBytes};

use crate::errors::MalformedFrameError;

/// Members of a Python enum by their codes on the wire.
type Members = [Option<Py<PyAny>>; 256];

static OPS: PyOnceLock<Members> = PyOnceLock::new();
static STATUSES: PyOnceLock<Members> = PyOnceLock::new();

const BITS: [(&str, u8); 8] = [
    ("HOT", wire::bits::HOT),
    ("EMBEDDED", wire::bits::EMBEDDED),
    ("DELETED", wire::bits::DELETED),
    ("LATEST", wire::bits::LATEST),
    ("DIRTY", wire::bits::DIRTY),
    ("OVERWRITTEN", wire::bits::OVERWRITTEN),
    ("VALID", wire::bits::VALID),
    ("PAST", wire::bits::PAST),
];

/// Adds the enums and the constants of the format to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let ops: Vec<_> = Op::ALL.iter().map(|op| (python_name(op), op.code())).collect();
    let statuses: Vec<_> = Status::ALL.iter().map(|it| (python_name(it), it.code())).collect();
    let bits = BITS.map(|(name, bit)| (name.to_owned(), bit));
    OPS.set(py, add_enum(module, "IntEnum", "Op", &ops)?).ok();
    STATUSES.set(py, add_enum(module, "IntEnum", "Status", &statuses)?).ok();
    add_enum(module, "IntFlag", "Bit", &bits)?;
    for (name, number) in [
        ("NETKV_PORT", u32::from(wire::NETKV_PORT)),
        ("MULTIGET_PORT", u32::from(wire::multiget::MULTIGET_PORT)),
        ("FORMAT", wire::FORMAT.into()),
        ("FLAG_CACHE_METADATA", wire::flags::CACHE_METADATA.into()),
        ("FLAG_CACHE_HIT", wire::flags::CACHE_HIT.into()),
        ("FLAG_STAMPED", wire::flags::STAMPED.into()),
        ("FLAG_UPPER", wire::flags::UPPER.into()),
        ("FLAG_LOAD", wire::flags::LOAD.into()),
        ("CHUNK_BYTES", wire::CHUNK as u32),
        ("MAX_CACHED_BYTES", wire::MAX_CACHED_VALUE as u32),
        ("KEY_BYTES", size_of::<wire::Key>() as u32),
        ("CPU_PORT", wire::CPU_PORT.into()),
        ("CONTROLLER_SENDER", wire::CONTROLLER_SENDER.into()),
        ("FIRST_SERVER_SENDER", wire::FIRST_SERVER_SENDER.into()),
        ("MAX_CLIENTS", wire::MAX_CLIENTS.into()),
        ("WINDOW", netkv_roles::WINDOW),
        ("SERVICE_IP", to_int(wire::SERVICE_IP)),
        ("CONTROLLER_IP", to_int(wire::CONTROLLER_IP)),
        ("COORDINATOR_IP", to_int(wire::multiget::COORDINATOR_IP)),
    ] {
        module.add(name, number)?;
    }
    Ok(())
}

/// Adds an enum of this kind to the module; returns its members by their codes.
fn add_enum(
    module: &Bound<'_, PyModule>,
    kind: &str,
    name: &str,
    codes: &[(String, u8)],
) -> PyResult<Members> {
    let py = module.py();
    let named = [("module", module.name()?)].into_py_dict(py)?;
    let class = py.import("enum")?.getattr(kind)?.call((name, codes), Some(&named))?;
    let mut members = [const { None }; 256];
    for (name, code) in codes {
        members[usize::from(*code)] = Some(class.getattr(name.as_str())?.unbind());
    }
    module.add(name, class)?;
    Ok(members)
}

/// The Python name of a variant: `GetReply` is `GET_REPLY`.
fn python_name(variant: &impl std::fmt::Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn member<'py>(py: Python<'py>, of: &PyOnceLock<Members>, code: u8) -> Bound<'py, PyAny> {
    let found = of.get(py).and_then(|members| members[usize::from(code)].as_ref());
    found.expect("the enum has a member for each variant").bind(py).clone()
}

const fn to_int(ip: Ip) -> u32 {
    u32::from_be_bytes(ip)
}

fn key_of(key: &[u8]) -> PyResult<wire::Key> {
    key.try_into().map_err(|_| {
        PyValueError::new_err(format!(
            "A key has {} bytes, not {}.",
            size_of::<wire::Key>(),
            key.len()
        ))
    })
}

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (
    op, key, request, source=to_int(wire::CONTROLLER_IP), destination=to_int(wire::SERVICE_IP), *,
    sender=wire::CONTROLLER_SENDER, status=Status::Ok.code(), cache_metadata=None, length=0,
    value=Default::default(), cache_hit=false, stamp=None, slot=None, upper=false, load=None
))]
#[expect(clippy::too_many_arguments, reason = "a frame has so many fields")]
pub fn write_frame<'py>(
    py: Python<'py>,
    op: u8,
    key: &[u8],
    request: u32,
    source: u32,
    destination: u32,
    sender: u16,
    status: u8,
    cache_metadata: Option<(u32, u32, u8)>,
    length: u16,
    value: &[u8],
    cache_hit: bool,
    stamp: Option<(u32, u32, u32, u8)>,
    slot: Option<(u16, u32)>,
    upper: bool,
    load: Option<(u8, u8, u32)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let unknown = |what, code| PyValueError::new_err(format!("There is no {what} 0x{code:02x}."));
    let op = Op::from_code(op).ok_or_else(|| unknown("operation", op))?;
    let status = Status::from_code(status).ok_or_else(|| unknown("status", status))?;
    if op.has_slot() && (stamp.is_none() || slot.is_none()) {
        let text = format!("{} is about an entry: it needs a stamp and a slot.", python_name(&op));
        return Err(PyValueError::new_err(text));
    }
    if value.len() > wire::MAX_VALUE {
        let text = format!("A value has up to {} bytes, not {}.", wire::MAX_VALUE, value.len());
        return Err(PyValueError::new_err(text));
    }
    let (entry, number) = slot.unwrap_or_default();
    let [source, destination] = [source, destination].map(u32::to_be_bytes);
    let request = Message::request(source, destination, op, sender, request, key_of(key)?);
    let message = Message {
        status,
        cache_metadata: cache_metadata.map(|(generation, version, bitmap)| CacheMetadata {
            generation,
            version,
            bitmap,
        }),
        length,
        value,
        cache_hit,
        stamp: stamp.map(|(incarnation, number, generation, bits)| Stamp {
            sequence: Sequence { incarnation, number },
            generation,
            bits,
        }),
        slot: Slot { entry, number },
        upper,
        load: load.map(|(layer, switch, reads)| Load { layer, switch, reads }),
        ..request
    };
    let mut frame = Vec::with_capacity(wire::MAX_FRAME);
    wire::write_frame(&mut frame, &message);
    Ok(PyBytes::new(py, &frame))
}

pub type Fields<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyBytes>,
    u32,
    u16,
    Bound<'py, PyAny>,
    Option<(u32, u32, u8)>,
    u16,
    Bound<'py, PyBytes>,
    bool,
    Option<(u32, u32, u32, u8)>,
    Option<(u16, u32)>,
    (bool, Option<(u8, u8, u32)>),
);

/// See `_engine.pyi`.
#[pyfunction]
pub fn read_frame<'py>(py: Python<'py>, frame: &[u8]) -> PyResult<(u32, u32, Fields<'py>)> {
    let view = FrameView::parse(frame)
        .map_err(|malformed| MalformedFrameError::new_err(malformed.to_string()))?;
    Ok((to_int(view.source()), to_int(view.destination()), fields(py, &view)))
}

/// The fields of a message.
pub fn fields<'py>(py: Python<'py>, view: &FrameView<'_>) -> Fields<'py> {
    (
        member(py, &OPS, view.op().code()),
        PyBytes::new(py, &view.key()),
        view.request(),
        view.sender(),
        member(py, &STATUSES, view.status().code()),
        view.cache_metadata()
            .map(|metadata| (metadata.generation, metadata.version, metadata.bitmap)),
        view.length(),
        PyBytes::new(py, view.value()),
        view.cache_hit(),
        view.stamp().map(|stamp| {
            (stamp.sequence.incarnation, stamp.sequence.number, stamp.generation, stamp.bits)
        }),
        view.slot().map(|slot| (slot.entry, slot.number)),
        (view.upper(), view.load().map(|load| (load.layer, load.switch, load.reads))),
    )
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn frame_op<'py>(py: Python<'py>, frame: &[u8]) -> Option<Bound<'py, PyAny>> {
    FrameView::parse(frame).ok().map(|view| member(py, &OPS, view.op().code()))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn is_report(frame: &[u8]) -> bool {
    FrameView::parse(frame).is_ok_and(|view| view.op().is_report())
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn udp_frame<'py>(
    py: Python<'py>,
    source: u32,
    destination: u32,
    port: u16,
    payload: &[u8],
) -> Bound<'py, PyBytes> {
    let mut frame = vec![0; wire::KV_OFFSET];
    frame.extend_from_slice(payload);
    wire::write_outer(&mut frame, source.to_be_bytes(), destination.to_be_bytes(), (port, port));
    PyBytes::new(py, &frame)
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn corrupted_frame<'py>(py: Python<'py>, frame: &[u8], seed: u64) -> Bound<'py, PyBytes> {
    let mut frame = frame.to_vec();
    Burst::draw(&mut Random::new(seed, 0)).strike(&mut frame);
    PyBytes::new(py, &frame)
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn client_ip(client: u16) -> u32 {
    to_int(wire::client_ip(client))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn server_ip(server: u16) -> u32 {
    to_int(wire::server_ip(server))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn splitter_ip(rack: u8) -> u32 {
    to_int(wire::multiget::splitter_ip(rack))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn mac_of(ip: u32) -> u64 {
    wire::mac_of(ip.to_be_bytes()).iter().fold(0, |mac, &byte| mac << 8 | u64::from(byte))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn key_hash(key: &[u8]) -> PyResult<u32> {
    Ok(wire::crc32(&key_of(key)?))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn owner_index(key: &[u8], servers: u16) -> PyResult<u16> {
    if servers == 0 {
        return Err(PyValueError::new_err("There are 0 servers; it must be 1 or more."));
    }
    Ok(wire::partition(&key_of(key)?, servers))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn initial_set<'py>(
    py: Python<'py>,
    key: &[u8],
    size: usize,
    server: u16,
) -> PyResult<Bound<'py, PyBytes>> {
    if !(MIN_VALUE_SIZE..=memcached::MAX_VALUE).contains(&size) {
        let most = memcached::MAX_VALUE;
        let text = format!("A value has {MIN_VALUE_SIZE} to {most} bytes, not {size}.");
        return Err(PyValueError::new_err(text));
    }
    let key = key_of(key)?;
    let mut value = vec![0; size];
    netkv_roles::initial_value(&key, &mut value);
    let mut frame = Vec::new();
    memcached::Request {
        source: wire::CONTROLLER_IP,
        source_port: memcached::CLIENT_PORT,
        destination: wire::server_ip(server),
        opcode: memcached::Opcode::Set,
        id: 0,
        opaque: 0,
        cas: 0,
        key: &key,
        value: &value,
    }
    .write(&mut frame);
    Ok(PyBytes::new(py, &frame))
}

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (number, placement = "seed"))]
pub fn key_of_record<'py>(
    py: Python<'py>,
    number: u64,
    placement: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let placement = match placement {
        "seed" => Placement::Seed,
        "ycsb" => Placement::Ycsb,
        _ => {
            let text = format!("There is no placement '{placement}': it is 'seed' or 'ycsb'.");
            return Err(PyValueError::new_err(text));
        }
    };
    if number >= MAX_KEYS && placement == Placement::Ycsb {
        let text = format!("A record placed as YCSB's has a number below {MAX_KEYS}.");
        return Err(PyValueError::new_err(text));
    }
    Ok(PyBytes::new(py, &netkv_workload::key_of(placement.id(number))))
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn partition_range(server: u16, servers: u16) -> PyResult<(u32, u32)> {
    if server >= servers {
        let text = format!("There is no server {server} of {servers}: the first is 0.");
        return Err(PyValueError::new_err(text));
    }
    Ok(wire::partition_range(server, servers))
}
