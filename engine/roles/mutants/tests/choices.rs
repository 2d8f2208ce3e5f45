//! Edits become choices in a copy of a source, or are refused.

#[path = "../choices.rs"]
#[allow(dead_code, unused_imports, unused_macros)]
mod choices;

use choices::{Edit, Kind, with_choices};

const TEXT: &str = "fn f() {\n    if a == b {\n        g();\n    }\n    if a == c {}\n}\n";

fn edit(right: &'static str, wrong: &'static str) -> Edit {
    Edit { file: "f.rs", right, wrong, kind: Kind::Choice }
}

fn edited(edits: &[(&str, Edit)]) -> Result<String, String> {
    let edits: Vec<(&str, &Edit)> = edits.iter().map(|(name, edit)| (*name, edit)).collect();
    with_choices(TEXT, &edits)
}

#[test]
fn expression_is_a_choice_in_parentheses() {
    let copy = edited(&[("Equal", edit("if «a == b» {", "@ || c"))]).unwrap();
    let chosen = "(if crate::mutation::is(\"Equal\") { a == b || c } else { a == b })";
    assert_eq!(copy, TEXT.replace("a == b", chosen));
}

#[test]
fn statement_is_a_choice_without_parentheses() {
    let copy = edited(&[("Silent", edit("g();", ""))]).unwrap();
    assert!(copy.contains("if crate::mutation::is(\"Silent\") {  } else { g(); }"), "{copy}");
}

#[test]
fn mutants_of_one_place_are_choices_of_it() {
    let edits = [("One", edit("if «a == b»", "true")), ("Two", edit("«a == b» {", "false"))];
    let copy = edited(&edits).unwrap();
    let first = "(if crate::mutation::is(\"One\") { true } else ";
    let second = "if crate::mutation::is(\"Two\") { false } else { a == b })";
    assert!(copy.contains(&format!("{first}{second}")), "{copy}");
}

#[test]
fn what_prepares_a_choice_is_in_any_case() {
    let always = Edit { kind: Kind::Always, ..edit("g();", "let n = 0; @") };
    assert!(edited(&[("Counts", always)]).unwrap().contains("        let n = 0; g();\n"));
}

#[test]
fn place_that_does_not_occur_once_is_refused() {
    for (right, times) in [("h();", "0 times"), ("if a ==", "2 times"), ("«»", "times")] {
        let why = edited(&[("Other", edit(right, ""))]).unwrap_err();
        assert!(why.contains("src/f.rs") && why.contains(times), "{why}");
    }
}

#[test]
fn places_that_overlap_are_refused() {
    let why = edited(&[("One", edit("a == b", "")), ("Two", edit("== b {", ""))]).unwrap_err();
    assert!(why.contains("the edit of Two overlaps another"), "{why}");
}
