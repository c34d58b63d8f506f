//! What the fuzzer found interesting, played back: see `fuzz`.

use std::{fs, path::Path};

#[path = "../../../fuzz/checks.rs"]
mod checks;

#[test]
fn every_line_of_the_corpus_is_read_without_contradiction() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/shell");
    let mut n_lines = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        checks::shell(&fs::read(path).unwrap());
        n_lines += 1;
    }
    assert!(n_lines >= 100, "{n_lines} lines");
}

#[test]
fn what_stands_for_a_broken_letter_is_no_way_around() {
    checks::shell(b"ls \xff; rm x");
    checks::shell(&[0, 255, b';', b'\n', 0xe2, 0x80, 0xae]);
}
