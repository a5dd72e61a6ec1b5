//! `cargo bench --bench attempts [-- WORD..]`: runs the benchmark of the same name in `peers`.

mod launch;

fn main() -> std::process::ExitCode {
    launch::peers("attempts", "bench", &launch::arguments())
}
