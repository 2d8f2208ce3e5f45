//! Runs the program `cache_read`, lowered by hand, and compares its output with bmv2's recording.
//! Also tests the errors and traces of STF files.

use std::sync::Arc;

use netkv_dataplane::{Output, Switch, SwitchOptions, stf};

use crate::common::cache_read;

fn switch() -> Switch {
    Switch::new(Arc::new(cache_read::program()), SwitchOptions::default()).unwrap()
}

fn golden() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cache_read.stf");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn cache_hits_misses_and_other_traffic_match_bmv2() {
    let report = stf::run(&mut switch(), &golden(), "cache_read.stf").unwrap();
    assert_eq!((report.packets, report.expectations), (220, 220));
    assert!(report.passed(), "{report}");
}

#[test]
fn a_wrong_byte_is_reported_with_its_index() {
    let text = golden();
    let line = text.lines().find(|line| line.starts_with("expect")).unwrap();
    let frame = line.trim_end_matches([' ', '$']);
    let wrong = if frame.ends_with('0') { '1' } else { '0' };
    let text = text.replacen(line, &format!("{}{wrong} $", &frame[..frame.len() - 1]), 1);
    let report = stf::run(&mut switch(), &text, "wrong.stf").unwrap();
    assert_eq!(report.mismatches.len(), 1, "{report}");
    let length = frame.split(' ').nth(2).unwrap().len() / 2;
    assert_eq!(report.mismatches[0].first_difference, Some(length - 1));
    let packet = report.mismatches[0].packet.unwrap();
    assert!(text.lines().nth(packet - 1).unwrap().starts_with("packet "));
    assert!(packet < report.mismatches[0].line, "{report}");
    let error =
        stf::run(&mut switch(), "\nadd I.lokup h.kv.key:1 I.hit(idx:1)", "x.stf").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.stf:2: There is no table 'I.lokup'; there are I.lookup, I.route."
    );
}

#[test]
fn a_missing_frame_is_reported_at_the_last_packet() {
    let text = golden() + "\nexpect 9 00 $\n";
    let report = stf::run(&mut switch(), &text, "missing.stf").unwrap();
    let packets = (1..).zip(text.lines()).filter(|(_, line)| line.starts_with("packet "));
    let last = packets.last().unwrap().0;
    assert_eq!(report.mismatches.len(), 1, "{report}");
    assert_eq!(report.mismatches[0].packet, Some(last));
    let report = stf::run(&mut switch(), "expect 9 00 $", "alone.stf").unwrap();
    assert_eq!(report.mismatches[0].packet, None);
}

#[test]
fn stf_trace_runs_setup_and_traces_selected_packets() {
    let text = golden();
    let all = stf::trace(&mut switch(), &text, "cache_read.stf", |_| true).unwrap();
    assert_eq!(all.len(), 220);
    let hit = all.iter().find(|packet| packet.trace.to_string().contains(": hit [0x")).unwrap();
    let (line, sent) = (hit.line, &hit.out);
    assert!(text.lines().nth(line - 1).unwrap().starts_with("packet "));
    let one = stf::trace(&mut switch(), &text, "cache_read.stf", |at| at == line).unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].port, &one[0].frame, &one[0].out), (hit.port, &hit.frame, sent));
    assert_eq!(one[0].trace.to_string(), hit.trace.to_string());
    assert!(stf::trace(&mut switch(), "packet 1", "bad.stf", |_| true).is_ok());
    let wrong = stf::trace(&mut switch(), "\nset 1", "bad.stf", |_| true).unwrap_err();
    assert!(wrong.to_string().starts_with("bad.stf:2: 'set' is no STF command"), "{wrong}");
}

#[test]
fn tracing_does_not_change_output_and_records_steps() {
    let (mut plain, mut traced) = (switch(), switch());
    let text = golden();
    let setup: String = text
        .lines()
        .filter(|l| l.starts_with("add") || l.starts_with("reg"))
        .map(|l| format!("{l}\n"))
        .collect();
    stf::run(&mut plain, &setup, "setup").unwrap();
    stf::run(&mut traced, &setup, "setup").unwrap();
    let mut hits = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("packet ")) {
        let (port, digits) = line.split_once(' ').unwrap();
        let digits: Vec<char> = digits.chars().filter(|c| c.is_ascii_hexdigit()).collect();
        let frame: Vec<u8> = digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap())
            .collect();
        let (mut a, mut b) = (Output::new(), Output::new());
        plain.process(0, port.parse().unwrap(), &frame, &mut a);
        let trace = traced.trace(0, port.parse().unwrap(), &frame, &mut b);
        assert!(a.frames().eq(b.frames()), "{trace}");
        let text = trace.to_string();
        if text.contains("I.r7[") {
            hits += 1;
            assert!(text.contains("table I.lookup(h.kv.key=0x"), "{text}");
            assert!(text.contains(": hit [0x") && text.contains("action I.hit(idx="), "{text}");
            assert!(text.contains("extract h.kv: op=0x00, seq="), "{text}");
            assert!(text.contains("(hand.p4:"), "{text}");
            assert!(serde_json::to_string(&trace).unwrap().contains("\"event\":\"register_read\""));
        }
    }
    assert!(hits > 10, "{hits} cache hits were traced");
    assert_eq!(plain.statistics(), traced.statistics());
}
