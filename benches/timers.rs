//! `cargo bench --bench timers [-- WORD..]`: runs the benchmark of that name in `peers`.

mod launch;

fn main() -> std::process::ExitCode {
    launch::peers("timers")
}
