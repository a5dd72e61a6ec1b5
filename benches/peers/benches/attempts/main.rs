//! The set of running attempts and the whole race, beside the peers: `cargo bench --bench attempts`.
//!
//! All contenders of a workload are measured in turn, in rounds, in one process; a row gives the median
//! of each and the ratio to the best peer. `-- WORD` runs the workloads whose name has the word in it.

mod contenders;
mod drain;
mod future;
mod heap;
mod push;
mod table;
mod wake;
mod whole;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with("--"))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));

    // The timers of tokio want a runtime around them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O");
    let _entered = runtime.enter();

    if wanted("one") {
        wake::race_of_one();
    }
    if wanted("wake") {
        for work in [future::Work::None, future::Work::Some] {
            for count in [1, 8, 64, 1_024, 16_384] {
                wake::one_of(count, work);
            }
        }
    }
    if wanted("push") {
        push::and_finish();
    }
    if wanted("drain") {
        for count in [1, 64, 1_024, 16_384] {
            drain::in_random_order(count);
        }
    }
    if wanted("heap") {
        heap::beyond_the_futures();
    }
    if wanted("whole") {
        whole::three_of_which_the_first_is_ready();
    }
}

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;
