//! Copies the source of `netkv-roles` and makes each edit of `edits/` a choice in the copy.

use std::fs;
use std::path::{Path, PathBuf};

mod choices;
mod edits;

use choices::{Edit, List, Mutant};

fn main() {
    println!("cargo::rerun-if-changed=../src");
    println!("cargo::rerun-if-changed=edits");
    println!("cargo::rerun-if-changed=choices.rs");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let _ = fs::remove_dir_all(out.join("src"));
    let mut files = Vec::new();
    find(&source, Path::new(""), &mut files);
    for file in &files {
        let text = fs::read_to_string(source.join(file)).expect("it was found");
        let edits: Vec<(&str, &Edit)> = edits::mutants()
            .flat_map(|mutant| mutant.edits.iter().map(|edit| (mutant.name, edit)))
            .filter(|(_, edit)| Path::new(edit.file) == file)
            .collect();
        let copy = choices::with_choices(&text, &edits).unwrap_or_else(|why| panic!("{why}"));
        let to = out.join("src").join(file);
        fs::create_dir_all(to.parent().expect("it is in a folder")).expect("it can be created");
        fs::write(to, if file == Path::new("lib.rs") { without_inner(&copy) } else { copy })
            .expect("it can be written");
    }
    for edit in edits::mutants().flat_map(|mutant| mutant.edits) {
        let exists = files.iter().any(|file| file == Path::new(edit.file));
        assert!(exists, "there is no src/{}", edit.file);
    }
    fs::write(out.join("mutations.rs"), names()).expect("it can be written");
}

/// All files below `folder`, as paths below it.
fn find(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(folder)).expect("it is a folder") {
        let entry = entry.expect("it is readable");
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            find(root, &path, files);
        } else {
            files.push(path);
        }
    }
}

/// Text that can be included: without comments and attributes of the whole crate.
fn without_inner(text: &str) -> String {
    let inner = |line: &&str| !line.starts_with("//!") && !line.starts_with("#![");
    text.lines().filter(inner).collect::<Vec<_>>().join("\n")
}

/// A constant for each mutant, and one for each list.
fn names() -> String {
    let mut text = String::new();
    for List { name, about, mutants } in edits::lists() {
        let mut all = String::new();
        for Mutant { name, about, .. } in *mutants {
            text += &format!("///{about}\n#[allow(non_upper_case_globals)]\n");
            text += &format!("pub const {name}: Mutation = Mutation({name:?});\n");
            all += &format!("{name}, ");
        }
        text += &format!("///{about}\npub const {name}: &[Mutation] = &[{all}];\n");
    }
    text
}
