//! `cargo bench --bench wheel [-- WORD..]`: runs the benchmark of that name in `peers`.

mod launch;

fn main() -> std::process::ExitCode {
    launch::peers("wheel")
}
