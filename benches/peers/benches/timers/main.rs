//! The timer with its own thread, compared with peers: `cargo bench --bench timers [-- arm|late]`.
//!
//! All contenders run alternately in one process, for several rounds; a cell is the median. It
//! prints which targets are met, and does not fail if one is missed, because shared cores are
//! noisy.

mod arm;
mod late;
mod table;

use tokio::runtime::Builder;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));

    // Its timers run on a separate thread, as those of the others.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("a runtime without I/O");
    let _entered = runtime.enter();

    if wanted("arm") {
        arm::among_ten_thousand();
    }
    if wanted("late") {
        late::a_thousand();
    }
}
