//! An endless race: squares of all numbers, one started every 50 ms. It is dropped after five.
//!
//! `cargo run --example endless`

use std::{
    io::{self, Write as _},
    time::Duration,
};

use race::tokio::Race;
use tokio::time::sleep;

const DELAY: Duration = Duration::from_millis(50);

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    // Every third number is slow, and the next two finish before it.
    let square = |number: usize| async move {
        let latency = if number % 3 == 0 { 160 } else { 20 };
        sleep(Duration::from_millis(latency)).await;
        number * number
    };
    let mut race = Race::from_fn(DELAY, square).max_in_flight(8);
    for _ in 0..5 {
        if let Some((number, square)) = race.next().await {
            writeln!(io::stdout(), "{number}² = {square}")?;
        }
    }
    let running = race.len();
    writeln!(io::stdout(), "dropping the race cancels {running}")
}
