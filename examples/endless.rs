//! An endless source: squares of all numbers, a new one every 50 ms, of which five are wanted.
//!
//! `cargo run --example endless`

use std::{
    io::{self, Write as _},
    time::Duration,
};

use race::tokio::Race;
use tokio::time::sleep;

const STEP: Duration = Duration::from_millis(50);

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    // Every third number is slow, and is overtaken by the two after it.
    let square = |number: &u64| {
        let number = *number;
        async move {
            let latency = if number % 3 == 0 { 160 } else { 20 };
            sleep(Duration::from_millis(latency)).await;
            number * number
        }
    };
    let mut race = Race::new(STEP, square, 0..).max_in_flight(8);
    for _ in 0..5 {
        if let Some((number, square)) = race.next().await {
            writeln!(io::stdout(), "{number}² = {square}")?;
        }
    }
    let running = race.len();
    writeln!(
        io::stdout(),
        "enough; {running} still running are cancelled"
    )
}
