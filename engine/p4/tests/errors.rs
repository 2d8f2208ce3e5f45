//! Errors name the place, what is wrong, and what would be right.

mod common;

use common::compile;
use netkv_p4::{Options, Severity, compile_source};

/// The errors of a program, with the lines they are on.
fn errors(globals: &str, ingress: &str) -> Vec<(String, String)> {
    let found = compile(globals, ingress).expect_err("the program is wrong");
    found.0.iter().map(|d| (d.message.clone(), d.source_line.trim().to_string())).collect()
}

fn fails(globals: &str, ingress: &str, message: &str) {
    let found = errors(globals, ingress);
    assert!(found.iter().any(|(m, _)| m.contains(message)), "{found:#?}");
}

#[test]
fn a_misspelt_name_is_answered_with_the_right_one() {
    fails("", "apply { hdr.ipv4.tll = 1; }", "no field 'tll'. Did you mean 'ttl'?");
    fails("", "apply { hdr.ipv5.ttl = 1; }", "Did you mean 'ipv4'?");
    fails("", "apply { mta.a = 1; }", "'mta' is not declared. Did you mean 'meta'?");
    fails("", "apply { hdr.ipv4.isVald(); }", "Did you mean 'isValid'?");
    fails("", "apply { mark_to_dorp(std); }", "Did you mean 'mark_to_drop'?");
    fails("contrl X() { apply { } }", "apply { }", "Did you mean 'control'?");
    fails(
        "",
        "table t { key = { hdr.ipv4.ttl: exat; } actions = { NoAction; } } apply { }",
        "Did you mean 'exact'?",
    );
    fails("", "table t { kye = { } } apply { }", "Did you mean 'key'?");
}

/// No message of a program proposes something.
fn proposes_nothing(globals: &str, ingress: &str, message: &str) {
    let found = errors(globals, ingress);
    assert!(found.iter().any(|(m, _)| m.contains(message)), "{found:#?}");
    assert!(found.iter().all(|(m, _)| !m.contains("Did you mean")), "{found:#?}");
}

#[test]
fn keywords_are_proposed_only_where_they_can_stand() {
    proposes_nothing("", "apply { meta.a = foo; }", "'foo' is not declared.");
    proposes_nothing("", "apply { foo(); }", "'foo' is not declared.");
    proposes_nothing("", "foo x; apply { }", "'foo' is not declared.");
    proposes_nothing("", "apply { meta.a = ot; }", "'ot' is not declared.");
    proposes_nothing("", "table t { actions = { actio; } } apply { }", "'actio' is not declared.");
    proposes_nothing("in x;", "apply { }", "Expected a declaration, not 'in'.");
    proposes_nothing("", "apply { meta.a = x; }", "'x' is not declared.");
    fails("", "apply { if (treu) { } }", "Did you mean 'true'?");
    fails("bol f() { return true; }", "apply { }", "Did you mean 'bool'?");
    fails("strct x { }", "apply { }", "Did you mean 'struct'?");
    fails("", "tabel t { } apply { }", "Did you mean 'table'?");
    fails("", "actoin a() { } apply { }", "Did you mean 'action'?");
    fails("", "apply { retrun; }", "'retrun' starts no statement here. Did you mean 'return'?");
    fails("", "apply { swich (meta.a) { } }", "Did you mean 'switch'?");
}

#[test]
fn only_names_of_the_wanted_kind_are_proposed() {
    // A header type is no value, a value no type, an action no match kind.
    proposes_nothing("", "apply { meta.a = ipv4; }", "'ipv4' is not declared.");
    proposes_nothing("", "met x; apply { }", "'met' is not declared.");
    fails("", "apply { meta.a = met.a; }", "Did you mean 'meta'?");
    fails("", "ipv4_tt x; apply { }", "Did you mean 'ipv4_t'?");
    fails("", "action run() { } table t { actions = { rnu; } } apply { }", "Did you mean 'run'?");
}

#[test]
fn the_name_of_the_package_is_said_once() {
    let text = common::program("", "apply { }").replace(" main;", " mian;");
    let found = compile_source("test.p4", &text, &Options::default()).unwrap_err();
    let messages: Vec<_> = found.0.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["The package instance must be called 'main'."]);
}

/// Whatever word of a program is misspelt, no message proposes a word that it has said, and none
/// proposes what stands there.
#[test]
fn no_proposal_repeats_what_is_said_or_written() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/features.p4");
    let text = std::fs::read_to_string(path).expect("the program");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts: Vec<usize> = (1..text.len())
        .filter(|at| text.is_char_boundary(*at) && text.is_char_boundary(at - 1))
        .filter(|at| text[*at..].starts_with(|c: char| c.is_ascii_alphabetic()))
        .filter(|at| !text[..*at].ends_with(is_word))
        .collect();
    let mut proposals = 0;
    for (i, start) in starts.iter().step_by(2).enumerate() {
        let end = *start + text[*start..].find(|c| !is_word(c)).unwrap_or(text.len() - start);
        let word = &text[*start..end];
        let misspelt = match (i % 3, word.len()) {
            (0, 2..) => word[..word.len() - 1].to_string(),
            (1, 2..) => format!("{}{}{}", &word[1..2], &word[..1], &word[2..]),
            _ => format!("{word}x"),
        };
        let program = format!("{}{misspelt}{}", &text[..*start], &text[end..]);
        let Err(found) = compile_source("test.p4", &program, &Options::default()) else { continue };
        for diagnostic in &found.0 {
            let Some((said, proposed)) = diagnostic.message.split_once("Did you mean '") else {
                continue;
            };
            let proposed = proposed.split('\'').next().unwrap_or_default();
            assert!(!said.contains(&format!("'{proposed}'")), "{diagnostic}");
            let from = diagnostic.column.saturating_sub(1) as usize;
            let written: String =
                diagnostic.source_line.chars().skip(from).take_while(|c| is_word(*c)).collect();
            assert_ne!(written, proposed, "{diagnostic}");
            proposals += 1;
        }
    }
    assert!(proposals > 50, "{proposals} proposals");
}

#[test]
fn an_error_shows_line_column_and_a_caret() {
    let text = "const bit<8> x = 1;\nconst bit<8> y = x +;\n";
    let found = compile_source("small.p4", text, &Options::default()).unwrap_err();
    let first = &found.0[0];
    assert_eq!((first.severity, first.line, first.column), (Severity::Error, 2, 21));
    let shown = first.to_string();
    assert_eq!(
        shown,
        "small.p4:2:21: error: Expected an expression, not ';'.\n    const bit<8> y = x +;\n                        ^"
    );
}

#[test]
fn several_mistakes_are_told_in_one_run() {
    let found = errors(
        "",
        "action a( { }
         action b() { hdr.ipv4.ttl = ; meta.a = hdr.ipv4.dstAddr; }
         apply { meta.c = 1; nothing(); if (meta.a) { } }",
    );
    assert!(found.len() >= 2, "{found:#?}");
    let found = errors("", "apply { meta.c = 1; nothing(); if (meta.a) { } meta.a = meta.b; }");
    assert_eq!(found.len(), 4, "{found:#?}");
}

#[test]
fn types_that_do_not_fit_are_errors_with_advice() {
    fails(
        "",
        "apply { meta.a = meta.b; }",
        "Expected a value of type bit<8>, not bit<16>. A cast makes it one: (bit<8>)",
    );
    fails(
        "",
        "apply { meta.a = meta.a + meta.b; }",
        "Operator '+' does not take bit<8> and bit<16>.",
    );
    fails("", "apply { if (meta.a) { } }", "Expected a value of type bool, not bit<8>.");
    fails("", "apply { meta.b = (bit<16>)(int<8>)meta.a; }", "Two casts do");
    fails("", "apply { meta.a[8:0] = 1; }", "Slice [8:0] does not fit");
    fails("", "apply { hdr.v[4].x = 1; }", "Index 4 is out of range");
    fails("", "action a(bit<8> x) { x = 1; } apply { }", "cannot be changed");
    fails(
        "",
        "apply { hash(meta.b, HashAlgorithm.crc16, 0, { meta.a }, 16w4); meta.b = 1 << 3; hdr.v.next.x = 1; }",
        "only be used in a parser",
    );
    fails(
        "header odd_t { bit<13> x; bit<4> y; }",
        "apply { }",
        "The fields of header 'odd_t' take 17 bits, but v1model's headers take whole bytes: add 7 bits",
    );
    fails(
        "bit<8> f(in bit<8> x) { if (x == 1) { return 1; } }",
        "apply { }",
        "can end without returning",
    );
}

#[test]
fn what_is_missing_is_named_as_not_supported_yet() {
    fails(
        "header_union u { ipv4_t a; v_t b; }",
        "apply { }",
        "A header_union is not supported yet.",
    );
    fails("", "apply { for (bit<8> i in 0 .. 3) { } }", "'for' is not supported yet.");
    fails("struct g<T> { T x; }", "apply { }", "A generic struct or header is not supported yet.");
    fails("", "apply { clone3(CloneType.I2E, 1, { meta.a }); }", "clone_preserving_field_list");
}

/// A table with one key, whose properties are given.
fn table(kind: &str, properties: &str) -> String {
    format!(
        "action a() {{ }}
        table t {{ key = {{ meta.b: {kind}; }} actions = {{ a; }} {properties} }}
        apply {{ t.apply(); }}"
    )
}

#[test]
fn priorities_that_do_not_count_are_errors() {
    let entries = "entries = { 1: a(); priority = 3: 2: a(); }";
    fails("", &table("ternary", &format!("const {entries}")), "'const entries' have no priority");
    fails("", &table("lpm", entries), "No key of table 't' is ternary, range or optional");
    fails("", &table("ternary", entries), "The first entry needs a priority");
    fails("", &table("ternary", "entries = { priority = 0: 2: a(); }"), "out of range");
    fails("", &table("ternary", "entries = { priority = 1: 1: a(); 2: a(); }"), "out of range");
    fails("", &table("ternary", "priority_delta = 0; entries = { 1: a(); }"), "at least 1");
    fails(
        "",
        &table("ternary", "entries = { 1: a() @priority; }"),
        "Expected one number: @priority(3).",
    );
    fails("", &table("ternary", "entries = { 1: a() @priority(1, 2); }"), "Expected one number");
    fails("", &table("ternary", "entries = { 1: a() @priority(meta.a); }"), "must be a constant");
}

#[test]
fn a_missing_include_says_where_it_was_searched() {
    let options = Options { include_dirs: vec!["/nowhere".into()], defines: Vec::new() };
    let found = compile_source("a/b.p4", "#include \"x.p4\"\n", &options).unwrap_err();
    assert!(found.0[0].message.contains("'x.p4'"), "{found}");
    assert!(found.0[0].message.contains("'a', '/nowhere'"), "{found}");
}

#[test]
fn a_literal_that_is_cut_is_warned_about() {
    let compiled = compile("", "apply { meta.a = 300; }").unwrap();
    assert_eq!(compiled.warnings.len(), 1);
    assert!(compiled.warnings[0].message.contains("300 does not fit in bit<8>"));
}

#[test]
fn comments_do_not_change_the_source_hash() {
    let one = compile("/* one */", "apply { meta.a = 1; }").unwrap();
    let two = compile("// two\n\n", "apply { meta.a   =  1; }").unwrap();
    let three = compile("", "apply { meta.a = 2; }").unwrap();
    assert_eq!(one.source_hash, two.source_hash);
    assert_ne!(one.source_hash, three.source_hash);
}
