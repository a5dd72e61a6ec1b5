//! `cargo bench --bench attempts [-- WORD..]`: runs the benchmark of that name in `peers`.

mod launch;

fn main() -> std::process::ExitCode {
    launch::peers("attempts")
}
