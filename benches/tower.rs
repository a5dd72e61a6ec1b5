//! `cargo bench --bench tower`: runs the benchmark of the same name in `peers`.

mod launch;

fn main() -> std::process::ExitCode {
    launch::peers("tower", "bench", &launch::arguments())
}
