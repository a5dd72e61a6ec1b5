//! `cargo bench --bench tower`: runs the benchmark of the same name in `peers`.

fn main() -> std::process::ExitCode {
    race_launch::peers("tower")
}
