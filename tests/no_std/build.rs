//! The C runtime starts the program; nothing else of the system is used.
fn main() {
    println!("cargo:rustc-link-arg=-lc");
}
