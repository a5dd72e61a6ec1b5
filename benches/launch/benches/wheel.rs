//! `cargo bench --bench wheel [-- WORD..]`: runs the benchmark of the same name in `peers`.

fn main() -> std::process::ExitCode {
    race_launch::peers("wheel")
}
