//! The timing wheel beside the peers: `cargo bench --bench wheel [-- time|memory]`.
//!
//! A million timers, half of them cancelled, at a resolution of a millisecond. All contenders run
//! in turn in one process, for several rounds; a cell is the median. The end of the output compares
//! with the targets.

mod contenders;
mod memory;
mod rounds;
mod table;
mod targets;

use contenders::{Delays, Hashed, Heap, Map, Wheel};
use rounds::Entrant;

const TIMERS: usize = 1_000_000;
const RANGES: [(&str, u64); 2] = [("60 s", 60_000), ("24 h", 86_400_000)];

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with("--"))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));

    let _entered = contenders::RUNTIME.enter();
    let entrants = [
        Entrant::new::<Wheel>(),
        Entrant::new::<Delays>(),
        Entrant::new::<Hashed>(),
        Entrant::new::<Map>(),
        Entrant::new::<Heap>(),
    ];
    if wanted("time") {
        let cells = RANGES.map(|(_, range)| rounds::medians(&entrants, range));
        table::times(&entrants, &cells);
        targets::times(&cells);
    }
    if wanted("memory") {
        let cells = RANGES.map(|(_, range)| memory::beyond_the_values(&entrants, range));
        table::bytes(&entrants, &cells);
        targets::bytes(&cells);
    }
}

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;
