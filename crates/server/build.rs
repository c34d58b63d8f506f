//! Has the program built again when the web console was.

fn main() {
    // Without this the embedded files would be those of the last time that Rust code changed.
    println!("cargo::rerun-if-changed=../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
}
