//! The programs in `p4/` process every frame as `docs/internals/wire-format.md` specifies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netkv_compiled::{ExecutorKind, Prepared};
use netkv_dataplane::{Output, Random, Switch, SwitchOptions, stf};
use netkv_ir::Value;
use netkv_p4::{Compiled, Diagnostics, Options, compile_file};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles `p4/NAME/NAME.p4`.
fn compiled(name: &str, defines: Vec<(String, Option<String>)>) -> Result<Compiled, Diagnostics> {
    let folder = repository().join("p4");
    let path = folder.join(format!("{name}/{name}.p4"));
    compile_file(&path, &Options { include_dirs: vec![folder], defines })
}

const BOTH: [ExecutorKind; 2] = [ExecutorKind::Interpreter, ExecutorKind::Compiled];

/// A switch for a program. `name` may end with `_` and the number of SRV fields.
fn switch(name: &str, pipelines: usize, kind: ExecutorKind) -> Switch {
    let (program, fields) = name.split_once('_').unwrap_or((name, ""));
    let mut defines = Vec::new();
    if !fields.is_empty() {
        defines.push(("NETMC_SERVERS".to_owned(), Some(fields.to_owned())));
    }
    let compiled = compiled(program, defines).unwrap_or_else(|e| panic!("{e}"));
    let options = SwitchOptions { seed: 1, pipelines };
    netkv_compiled::switch(Arc::new(compiled.program), options, kind).unwrap()
}

/// The packet test with this name, which `make packet-tests` has written.
fn text(name: &str) -> String {
    let path = repository().join(format!("tests/p4programs/generated/{name}.stf"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}. Run 'make packet-tests', which writes it.", path.display())
    })
}

fn frame_of(line: &str) -> Option<(u16, Vec<u8>)> {
    let mut words = line.strip_prefix("packet ")?.split_whitespace();
    let port = words.next()?.parse().ok()?;
    let digits = words.next().unwrap_or_default();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    Some((port, (0..digits.len()).step_by(2).map(byte).collect()))
}

/// Runs the packet test. It is generated: fewer packets or expectations than `least` would mean
/// that a part of it got lost.
fn follows_documentation(name: &str, pipelines: usize, least: (usize, usize)) {
    for kind in BOTH {
        let mut switch = switch(name, pipelines, kind);
        let report = stf::run(&mut switch, &text(name), &format!("{name}.stf"))
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(report.packets >= least.0 && report.expectations >= least.1, "{report}");
        assert!(report.passed(), "{kind:?}, {pipelines} pipelines: {report}");
    }
}

#[test]
fn forwarding_does_as_documented() {
    follows_documentation("forwarding", 1, (158, 41));
}

#[test]
fn netcache_does_as_documented() {
    follows_documentation("netcache", 1, (355, 178));
}

#[test]
fn farreach_does_as_documented() {
    for pipelines in [1, 2, 4] {
        follows_documentation("farreach", pipelines, (1217, 899));
    }
}

#[test]
fn netmc_does_as_documented() {
    for pipelines in [1, 2, 4] {
        follows_documentation("netmc", pipelines, (216, 155));
        follows_documentation("netmc_32", pipelines, (36, 80));
    }
}

#[test]
fn netmc_has_1_to_32_srv_fields() {
    let compiled = |servers: u32| {
        compiled("netmc", vec![("NETMC_SERVERS".to_owned(), Some(servers.to_string()))])
    };
    for servers in 1..=32 {
        assert!(compiled(servers).is_ok(), "{servers}");
    }
    for servers in [0, 33] {
        let Err(report) = compiled(servers) else { panic!("{servers} fields are accepted") };
        assert!(report.to_string().contains("is 1 to 32"), "{report}");
    }
}

#[test]
fn netmc_splits_requests_of_16_to_128_keys() {
    let compiled =
        |keys: u32| compiled("netmc", vec![("NETMC_KEYS".to_owned(), Some(keys.to_string()))]);
    for keys in [16, 32, 64, 128] {
        assert!(compiled(keys).is_ok(), "{keys}");
    }
    for keys in [8, 48, 256] {
        let Err(report) = compiled(keys) else { panic!("{keys} keys are accepted") };
        assert!(report.to_string().contains("is 16, 32, 64 or 128"), "{report}");
    }
}

#[test]
fn switches_that_share_code_share_no_state() {
    let compiled = compiled("netcache", Vec::new()).unwrap_or_else(|e| panic!("{e}"));
    let program = Arc::new(compiled.program);
    for kind in BOTH {
        let prepared = Prepared::new(Arc::clone(&program), kind, 1).unwrap();
        // State of one switch would change the results of the next one.
        let mut switches: Vec<_> = (0..2).map(|seed| prepared.switch(seed).unwrap()).collect();
        drop(prepared);
        for switch in &mut switches {
            let report = stf::run(switch, &text("netcache"), "netcache.stf").unwrap();
            assert!(report.passed(), "{kind:?}: {report}");
        }
    }
}

#[test]
fn a_hot_key_is_reported_once_an_epoch_with_its_count() {
    BOTH.into_iter().for_each(assert_reports_a_hot_key);
}

fn assert_reports_a_hot_key(kind: ExecutorKind) {
    let mut switch = switch("netcache", 1, kind);
    stf::run(&mut switch, &text("netcache"), "netcache.stf").unwrap();
    // In epoch 1 the file has 12 reads of one uncached key; 4 reads make it hot.
    let key = 0x5264_4f0a;
    let expected = vec![Value::new(128, key), Value::new(16, 4), Value::new(16, 1)];
    let reports = switch.take_digests();
    let values: Vec<_> = reports.iter().map(|report| &report.values).collect();
    assert_eq!(values, [&expected]);
}

#[test]
fn invalid_frames_do_not_stop_the_switch() {
    for kind in BOTH {
        survives_invalid_frames("netcache", 1, 1, kind);
        survives_invalid_frames("farreach", 1, ORIGINALS + 1, kind);
        survives_invalid_frames("farreach", 2, ORIGINALS + 1, kind);
    }
}

/// FarReach's switch sends three copies of an overwritten record to the controller.
const ORIGINALS: usize = 3;

/// Sends corrupted frames. The switch must send at most `most` frames for each and continue to
/// work.
fn survives_invalid_frames(name: &str, pipelines: usize, most: usize, kind: ExecutorKind) {
    let seeds: Vec<_> = text(name).lines().filter_map(frame_of).collect();
    let mut switch = switch(name, pipelines, kind);
    stf::run(&mut switch, &text(name), name).unwrap();
    let (mut random, mut out) = (Random::new(7), Output::default());
    for _ in 0..100_000 {
        let pick = random.between(0, seeds.len() as u64 - 1) as usize;
        let (port, mut frame) = seeds[pick].clone();
        for _ in 0..random.between(0, 4) {
            if let Some(last) = frame.len().checked_sub(1) {
                let at = random.between(0, last as u64) as usize;
                frame[at] = random.between(0, 255) as u8;
            }
        }
        frame.truncate(random.between(0, 2 * frame.len() as u64) as usize);
        out.clear();
        switch.process(0, port, &frame, &mut out);
        assert!(out.frames().count() <= most, "one frame in, at most {most} out");
    }
    // A read of an uncached key still reaches its server.
    let (port, read) = &seeds[0];
    out.clear();
    switch.process(0, *port, read, &mut out);
    assert_eq!(out.frames().count(), 1);
}
