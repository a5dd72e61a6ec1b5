//! `cargo bench --bench timers [-- WORD..]`: runs the benchmark of the same name in `peers`.

mod launch;

fn main() -> std::process::ExitCode {
    launch::peers("timers", "bench", &launch::arguments())
}
