//! `cargo bench --bench wheel [-- WORD..]`: runs the benchmark of the same name in `peers`.

mod launch;

fn main() -> std::process::ExitCode {
    launch::peers("wheel", "bench", &launch::arguments())
}
