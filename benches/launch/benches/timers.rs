//! `cargo bench --bench timers [-- WORD..]`: runs the benchmark of the same name in `peers`.

fn main() -> std::process::ExitCode {
    race_launch::peers("timers")
}
