//! Compiler errors state the position, what is wrong, and what would be right.

use crate::common;

use common::compile;
use netkv_p4::{Options, Severity, compile_source};

/// Messages and source lines of the errors of a program.
fn errors(globals: &str, ingress: &str) -> Vec<(String, String)> {
    let found = compile(globals, ingress).expect_err("the program is wrong");
    found.0.iter().map(|d| (d.message.clone(), d.source_line.trim().to_string())).collect()
}

fn assert_error(globals: &str, ingress: &str, message: &str) {
    let found = errors(globals, ingress);
    assert!(found.iter().any(|(m, _)| m.contains(message)), "{found:#?}");
}

#[test]
fn a_misspelt_name_gets_a_proposal() {
    assert_error("", "apply { hdr.ipv4.tll = 1; }", "no field 'tll'. Did you mean 'ttl'?");
    assert_error("", "apply { hdr.ipv5.ttl = 1; }", "Did you mean 'ipv4'?");
    assert_error("", "apply { mta.a = 1; }", "'mta' is not declared. Did you mean 'meta'?");
    assert_error("", "apply { hdr.ipv4.isVald(); }", "Did you mean 'isValid'?");
    assert_error("", "apply { mark_to_dorp(std); }", "Did you mean 'mark_to_drop'?");
    assert_error("contrl X() { apply { } }", "apply { }", "Did you mean 'control'?");
    assert_error(
        "",
        "table t { key = { hdr.ipv4.ttl: exat; } actions = { NoAction; } } apply { }",
        "Did you mean 'exact'?",
    );
    assert_error("", "table t { kye = { } } apply { }", "Did you mean 'key'?");
}

/// Asserts that no message of a program proposes a name.
fn assert_no_proposal(globals: &str, ingress: &str, message: &str) {
    let found = errors(globals, ingress);
    assert!(found.iter().any(|(m, _)| m.contains(message)), "{found:#?}");
    assert!(found.iter().all(|(m, _)| !m.contains("Did you mean")), "{found:#?}");
}

#[test]
fn keywords_are_proposed_only_where_they_are_allowed() {
    assert_no_proposal("", "apply { meta.a = foo; }", "'foo' is not declared.");
    assert_no_proposal("", "apply { foo(); }", "'foo' is not declared.");
    assert_no_proposal("", "foo x; apply { }", "'foo' is not declared.");
    assert_no_proposal("", "apply { meta.a = ot; }", "'ot' is not declared.");
    assert_no_proposal(
        "",
        "table t { actions = { actio; } } apply { }",
        "'actio' is not declared.",
    );
    assert_no_proposal("in x;", "apply { }", "Expected a declaration, not 'in'.");
    assert_no_proposal("", "apply { meta.a = x; }", "'x' is not declared.");
    assert_error("", "apply { if (treu) { } }", "Did you mean 'true'?");
    assert_error("bol f() { return true; }", "apply { }", "Did you mean 'bool'?");
    assert_error("strct x { }", "apply { }", "Did you mean 'struct'?");
    assert_error("", "tabel t { } apply { }", "Did you mean 'table'?");
    assert_error("", "actoin a() { } apply { }", "Did you mean 'action'?");
    assert_error(
        "",
        "apply { retrun; }",
        "'retrun' starts no statement here. Did you mean 'return'?",
    );
    assert_error("", "apply { swich (meta.a) { } }", "Did you mean 'switch'?");
}

#[test]
fn only_names_of_the_expected_kind_are_proposed() {
    // A type is not proposed for a value, nor a value for a type.
    assert_no_proposal("", "apply { meta.a = ipv4; }", "'ipv4' is not declared.");
    assert_no_proposal("", "met x; apply { }", "'met' is not declared.");
    assert_error("", "apply { meta.a = met.a; }", "Did you mean 'meta'?");
    assert_error("", "ipv4_tt x; apply { }", "Did you mean 'ipv4_t'?");
    assert_error(
        "",
        "action run() { } table t { actions = { rnu; } } apply { }",
        "Did you mean 'run'?",
    );
}

#[test]
fn a_wrong_package_name_is_reported_once() {
    let text = common::program("", "apply { }").replace(" main;", " mian;");
    let found = compile_source("test.p4", &text, &Options::default()).unwrap_err();
    let messages: Vec<_> = found.0.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["The package instance must be called 'main'."]);
}

/// Misspells every second word of a program, one at a time. No message proposes a word that the
/// message already contains, or the word that is in the source.
#[test]
fn no_proposal_repeats_the_message_or_the_source() {
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
fn an_error_shows_line_column_and_caret() {
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
fn several_errors_are_reported_in_one_run() {
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
fn type_errors_propose_a_correction() {
    assert_error(
        "",
        "apply { meta.a = meta.b; }",
        "Expected a value of type bit<8>, not bit<16>. A cast makes it one: (bit<8>)",
    );
    assert_error(
        "",
        "apply { meta.a = meta.a + meta.b; }",
        "Operator '+' does not take bit<8> and bit<16>.",
    );
    assert_error("", "apply { if (meta.a) { } }", "Expected a value of type bool, not bit<8>.");
    assert_error("", "apply { meta.b = (bit<16>)(int<8>)meta.a; }", "Two casts do");
    assert_error("", "apply { meta.a[8:0] = 1; }", "Slice [8:0] does not fit");
    assert_error("", "apply { hdr.v[4].x = 1; }", "Index 4 is out of range");
    assert_error("", "action a(bit<8> x) { x = 1; } apply { }", "cannot be changed");
    assert_error(
        "",
        "apply { hash(meta.b, HashAlgorithm.crc16, 0, { meta.a }, 16w4); meta.b = 1 << 3; hdr.v.next.x = 1; }",
        "only be used in a parser",
    );
    assert_error(
        "header odd_t { bit<13> x; bit<4> y; }",
        "apply { odd_t odd; odd.setValid(); odd.y = (bit<4>)meta.a; meta.a = (bit<8>)odd.y; }",
        "The fields of header 'odd_t' take 17 bits, but v1model's headers take whole bytes: add 7 bits",
    );
    assert_error(
        "bit<8> f(in bit<8> x) { if (x == 1) { return 1; } }",
        "apply { }",
        "can end without returning",
    );
}

#[test]
fn unsupported_constructs_are_reported_as_such() {
    assert_error(
        "extern E { E(); abstract void f(); }",
        "apply { }",
        "An abstract method is not supported yet.",
    );
    assert_error(
        "extern bit<8> f();",
        "apply { meta.a = f(); }",
        "Extern function 'f' is not supported yet.",
    );
    assert_error(
        "",
        "apply { clone3(CloneType.I2E, 1, { meta.a }); }",
        "clone_preserving_field_list",
    );
}

/// Ingress with a table that has one key of this match kind, and these properties.
fn table(kind: &str, properties: &str) -> String {
    format!(
        "action a() {{ }}
        table t {{ key = {{ meta.b: {kind}; }} actions = {{ a; }} {properties} }}
        apply {{ t.apply(); }}"
    )
}

#[test]
fn priorities_without_effect_are_errors() {
    let entries = "entries = { 1: a(); priority = 3: 2: a(); }";
    assert_error(
        "",
        &table("ternary", &format!("const {entries}")),
        "'const entries' have no priority",
    );
    assert_error("", &table("lpm", entries), "No key of table 't' is ternary, range or optional");
    assert_error("", &table("ternary", entries), "The first entry needs a priority");
    assert_error("", &table("ternary", "entries = { priority = 0: 2: a(); }"), "out of range");
    assert_error(
        "",
        &table("ternary", "entries = { priority = 1: 1: a(); 2: a(); }"),
        "out of range",
    );
    assert_error("", &table("ternary", "priority_delta = 0; entries = { 1: a(); }"), "at least 1");
    assert_error(
        "",
        &table("ternary", "entries = { 1: a() @priority; }"),
        "Expected one number: @priority(3).",
    );
    assert_error(
        "",
        &table("ternary", "entries = { 1: a() @priority(1, 2); }"),
        "Expected one number",
    );
    assert_error(
        "",
        &table("ternary", "entries = { 1: a() @priority(meta.a); }"),
        "must be a constant",
    );
}

#[test]
fn a_missing_include_lists_the_searched_directories() {
    let options = Options { include_dirs: vec!["/nowhere".into()], defines: Vec::new() };
    let found = compile_source("a/b.p4", "#include \"x.p4\"\n", &options).unwrap_err();
    assert!(found.0[0].message.contains("'x.p4'"), "{found}");
    assert!(found.0[0].message.contains("'a', '/nowhere'"), "{found}");
}

#[test]
fn a_truncated_literal_is_a_warning() {
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
