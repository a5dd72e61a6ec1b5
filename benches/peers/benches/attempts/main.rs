//! The set of running attempts and the whole race, compared with peers: `cargo bench --bench
//! attempts`.
//!
//! All contenders of a workload run alternately in one process, for several rounds. A row gives the
//! median and its ratio to the best peer. The last lines compare ours with the best peer that grows
//! and with the one that is created with its final size. `-- WORD` runs the workloads whose name
//! contains the word.

mod batch;
mod contenders;
mod drain;
mod future;
mod heap;
mod processor;
mod push;
mod table;
mod wake;
mod whole;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));

    println!("{}", processor::name());
    // The timers of tokio need a runtime.
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
    if wanted("in and out") {
        push::beside_idle(1_024);
    }
    if wanted("batch") {
        batch::ready_at_once(1_024);
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
