//! The timer on a thread of its own beside the peers: `cargo bench --bench timers [-- arm|late]`.
//!
//! All contenders take turns in one process, for several rounds; a cell is the median. It says which targets
//! are met, and fails for none: two shared cores are noisy.

mod arm;
mod late;
mod table;

use tokio::runtime::Builder;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with("--"))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));

    // Its timers are on a thread of its own as well, like all others.
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
