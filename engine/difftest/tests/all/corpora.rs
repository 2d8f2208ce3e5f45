//! Runs the fuzz targets on their corpora, which contain earlier findings.

use std::fs;
use std::path::PathBuf;

use netkv_difftest::{Rng, fuzz_targets};

use crate::programs;

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = programs::root().join("engine/fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    assert!(files.len() > 9, "the corpus of {name} has only {} files", files.len());
    files.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

#[test]
fn the_front_end_survives_its_corpus_and_mutations() {
    for (path, bytes) in corpus("front_end") {
        let text =
            String::from_utf8(bytes).unwrap_or_else(|_| panic!("{} is no text", path.display()));
        fuzz_targets::front_end(&text);
        for seed in 0..4 {
            fuzz_targets::front_end(&fuzz_targets::mutate(&text, seed));
        }
    }
}

#[test]
fn the_packet_path_survives_its_corpus_and_mutations() {
    let mut rng = Rng::new(1, "corpora");
    for (_, mut bytes) in corpus("packet_path") {
        fuzz_targets::packet_path(&bytes);
        for _ in 0..4 {
            if !bytes.is_empty() {
                let at = rng.below(bytes.len());
                bytes[at] = rng.bits() as u8;
            }
            fuzz_targets::packet_path(&bytes);
        }
    }
}
