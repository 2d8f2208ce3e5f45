//! Tests of a write-back cache with the layout of FarReach's section V-A: it fits, and each
//! construct that the target does not allow gets a warning.

use crate::common::report;
use netkv_budget::{Pipeline, WarningKind};

/// One row of the sketch, and one value array of 16 bytes.
const PARTS: &str = "
    control Row(inout metadata meta, inout bit<1> hot, in bit<16> at) {
        register<bit<16>>(65536) cells;
        bit<16> count = 0;
        apply {
            cells.read(count, (bit<32>) at);
            count = count |+| 1;
            cells.write((bit<32>) at, count);
            if (count > 20) { hot = 1; }
        }
    }
    control Values(inout wide_t chunk, inout metadata meta, in bit<16> at) {
        register<bit<128>>(32768) cells;
        apply {
            if (meta.found) { cells.write((bit<32>) at, chunk.data); }
            else { cells.read(chunk.data, (bit<32>) at); }
        }
    }";

const DECLARED: &str = "
    Row() row0; Row() row1; Row() row2; Row() row3;
    Values() v0; Values() v1; Values() v2; Values() v3;
    Values() v4; Values() v5; Values() v6; Values() v7;
    register<bit<32>>(32768) frequency;
    register<bit<64>>(32768) numbers;
    register<bit<8>>(32768) valid;
    register<bit<8>>(32768) latest;
    register<bit<64>>(32768) number;
    register<bit<16>>(32768) length;
    bit<32> hits = 0; bit<8> state = 0; bit<8> newest = 0; bit<64> next = 0;
    bit<1> hot0 = 0; bit<1> hot1 = 0; bit<1> hot2 = 0; bit<1> hot3 = 0;
    bit<32> entry = 0; bool hit = false;";

/// The estimate for the egress of the cache. Operations are 0 (get), 2 (put), 8 (a change of state)
/// and 9 (a reply to a get). `edits` replace parts of the body.
fn egress(edits: &[(&str, &str)]) -> Pipeline {
    let mut body = format!(
        "{DECLARED}
        apply {{
            if (hdr.h.op == 2) {{
                numbers.read(next, (bit<32>) hdr.h.other);
                next = next + 1;
                numbers.write((bit<32>) hdr.h.other, next);
            }}
            if (hdr.h.flags == 1) {{
                frequency.read(hits, (bit<32>) hdr.h.index);
                frequency.write((bit<32>) hdr.h.index, hits |+| 1);
                if (hdr.h.op == 8) {{ valid.write((bit<32>) hdr.h.index, hdr.h.key[7:0]); }}
                else {{ valid.read(state, (bit<32>) hdr.h.index); }}
                latest.read(newest, (bit<32>) hdr.h.index);
                if (hdr.h.op == 2 && state == 1) {{ latest.write((bit<32>) hdr.h.index, 1); }}
                else if (hdr.h.op == 2 && state == 3) {{ latest.write((bit<32>) hdr.h.index, 2); }}
                else if (hdr.h.op == 9 && newest == 0) {{ latest.write((bit<32>) hdr.h.index, 1); }}
                meta.found = hdr.h.op == 2 && state == 1;
                if ((hdr.h.op == 2 && state == 1) || (hdr.h.op == 0 && newest == 1)) {{
                    if (meta.found) {{
                        number.write((bit<32>) hdr.h.index, next);
                        length.write((bit<32>) hdr.h.index, hdr.h.value[15:0]);
                    }} else {{
                        number.read(next, (bit<32>) hdr.h.index);
                        length.read(hdr.h.value[15:0], (bit<32>) hdr.h.index);
                    }}
                    v0.apply(hdr.w, meta, hdr.h.index); v1.apply(hdr.w, meta, hdr.h.index);
                    v2.apply(hdr.w, meta, hdr.h.index); v3.apply(hdr.w, meta, hdr.h.index);
                    v4.apply(hdr.w, meta, hdr.h.index); v5.apply(hdr.w, meta, hdr.h.index);
                    v6.apply(hdr.w, meta, hdr.h.index); v7.apply(hdr.w, meta, hdr.h.index);
                }}
            }} else {{
                row0.apply(meta, hot0, hdr.h.key[15:0]); row1.apply(meta, hot1, hdr.h.key[31:16]);
                row2.apply(meta, hot2, hdr.h.index); row3.apply(meta, hot3, hdr.h.other);
                if (hot0 == 1 && hot1 == 1 && hot2 == 1 && hot3 == 1) {{ hdr.h.flags = 2; }}
            }}
        }}"
    );
    for (line, instead) in edits {
        assert!(body.contains(line), "{line}");
        body = body.replace(line, instead);
    }
    report(PARTS, "apply { }", &body).egress
}

#[test]
fn the_layout_of_the_paper_fits() {
    let pipeline = egress(&[]);
    assert!(pipeline.warnings.is_empty(), "{:#?}", pipeline.warnings);
    assert!(pipeline.exceeded.is_empty(), "{:?}", pipeline.exceeded);
    // Sketch 4, frequency 1, numbers 2, valid 1, latest 1, number 2, length 1, values 32.
    assert_eq!(pipeline.usage.arrays.used, 44);
    assert!(pipeline.usage.stages.used <= 12, "{:#?}", pipeline.stages);
}

#[test]
fn four_rows_of_32_bits_do_not_fit_into_one_stage() {
    let widest = |pipeline: &Pipeline| {
        let rows = |stage: &netkv_budget::Stage| {
            stage.placed.iter().filter(|placed| placed.name.contains(".row")).count()
        };
        pipeline.stages.iter().map(rows).max().unwrap_or(0)
    };
    assert!(widest(&egress(&[])) <= 4);
    let wide = PARTS.replace("bit<16>>(65536)", "bit<32>>(65536)");
    let wide = wide.replace("bit<16> count", "bit<32> count");
    let rows = "Row() row0; Row() row1; Row() row2; Row() row3; bit<1> hot = 0;
        apply {
            row0.apply(meta, hot, hdr.h.index); row1.apply(meta, hot, hdr.h.index);
            row2.apply(meta, hot, hdr.h.index); row3.apply(meta, hot, hdr.h.index);
        }";
    assert_eq!(widest(&report(PARTS, rows, "apply { }").ingress), 4);
    assert_eq!(widest(&report(&wide, rows, "apply { }").ingress), 3);
}

#[test]
fn constructs_that_a_tofino_does_not_allow_get_warnings() {
    let twice = egress(&[(
        "frequency.write((bit<32>) hdr.h.index, hits |+| 1);",
        "frequency.write((bit<32>) hdr.h.other, hits |+| 1);",
    )]);
    assert_eq!(twice.warnings.len(), 1);
    assert_eq!(twice.warnings[0].objects, ["E.frequency"]);
    // The valid flag of an entry depends on its latest flag, and vice versa.
    let cycle = egress(&[(
        "latest.read(newest, (bit<32>) hdr.h.index);",
        "latest.read(newest, (bit<32>) hdr.h.index);
         if (hdr.h.op != 8 && newest == 2) { valid.write((bit<32>) hdr.h.index, 0); }",
    )]);
    assert!(
        cycle.warnings.iter().any(|warning| {
            warning.kind == WarningKind::Order
                && warning.objects.contains(&"E.valid".to_string())
                && warning.objects.contains(&"E.latest".to_string())
        }),
        "{:#?}",
        cycle.warnings
    );
}
