//! The pipes and disks that fail on cue do fail.

use std::{
    io::{self, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use pilothouse_testkit::faults::{self, FULL_DEVICE, TornReader};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

#[tokio::test]
async fn lines_come_torn_and_whole_again() {
    let text = b"{\"a\":1}\nsecond\n".as_slice();
    let mut buffer = [0; 64];
    let mut torn = TornReader::new(text, 3);
    assert_eq!(torn.read(&mut buffer).await.unwrap(), 3);
    let mut lines = BufReader::new(TornReader::new(text, 3)).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "{\"a\":1}");
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "second");
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[test]
fn a_small_disk_is_full_soon() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = faults::on_small_disk(dir.path(), 64, Path::new("dd"));
    let target = format!("of={}", dir.path().join("x").display());
    let output = command.args(["if=/dev/zero", &target, "bs=1k", "count=100"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("No space left on device"), "{said}");
    assert!(!dir.path().join("x").exists());
}

#[test]
fn the_full_device_refuses_every_write() {
    let mut full = std::fs::File::options().write(true).open(FULL_DEVICE).unwrap();
    assert_eq!(full.write(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_file_stops_growing_at_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x");
    let script = "read go; head -c 100000 /dev/zero > \"$0\"";
    let mut child =
        Command::new("sh").args(["-c", script]).arg(&file).stdin(Stdio::piped()).spawn().unwrap();
    faults::limit_file_size(child.id(), 4096).unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 4096);
}
