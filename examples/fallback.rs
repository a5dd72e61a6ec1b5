//! Graceful degradation: the live price if it comes soon, else the cached one, else the default.
//! A failure starts the next at once; slowness starts it after a step, and the better answer may
//! still win.
//!
//! `cargo run --example fallback`

use std::{
    io::{self, Write as _},
    time::Duration,
};

use race::tokio::Race;
use tokio::time::sleep;

const STEP: Duration = Duration::from_millis(100);

/// How the two services feel today.
#[derive(Clone, Copy)]
struct Weather {
    live: (u64, Result<u32, &'static str>),
    cache: (u64, Result<u32, &'static str>),
}

#[derive(Clone, Copy, Debug)]
enum Fallback {
    Live,
    Cache,
    Default,
}

async fn price(fallback: Fallback, weather: Weather) -> Result<u32, &'static str> {
    let (millis, price) = match fallback {
        Fallback::Live => weather.live,
        Fallback::Cache => weather.cache,
        Fallback::Default => (0, Ok(100)),
    };
    sleep(Duration::from_millis(millis)).await;
    price
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let days = [
        ("all is well", (20, Ok(117)), (5, Ok(115))),
        ("live is down", (10, Err("live: refused")), (5, Ok(115))),
        ("live is slow", (400, Ok(117)), (5, Ok(115))),
        (
            "both are down",
            (10, Err("live: refused")),
            (5, Err("cache: empty")),
        ),
    ];
    for (day, live, cache) in days {
        let weather = Weather { live, cache };
        let chain = [Fallback::Live, Fallback::Cache, Fallback::Default];
        let race = Race::new(STEP, |&fallback| price(fallback, weather), chain);
        match race.first_ok().await {
            Ok(won) => writeln!(
                io::stdout(),
                "{day}: {} from {:?} after {} ms",
                won.output,
                won.arg,
                won.elapsed.as_millis()
            )?,
            Err(error) => writeln!(io::stdout(), "{day}: {error}")?,
        }
    }
    Ok(())
}
