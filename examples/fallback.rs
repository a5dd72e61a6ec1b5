//! A fallback chain: the live price, else the cached one, else the default.
//!
//! If the live price fails, the cache is asked at once. If it is slow, the cache is asked after a
//! delay, and the live price can still win.
//!
//! `cargo run --example fallback`

use std::{
    io::{self, Write as _},
    time::Duration,
};

use race::tokio::Race;
use tokio::time::sleep;

const DELAY: Duration = Duration::from_millis(100);

/// The latency in milliseconds and the result of each service.
#[derive(Clone, Copy)]
struct Services {
    live: (u64, Result<u32, &'static str>),
    cache: (u64, Result<u32, &'static str>),
}

#[derive(Clone, Copy, Debug)]
enum Fallback {
    Live,
    Cache,
    Default,
}

async fn price(fallback: Fallback, services: Services) -> Result<u32, &'static str> {
    let (millis, price) = match fallback {
        Fallback::Live => services.live,
        Fallback::Cache => services.cache,
        Fallback::Default => (0, Ok(100)),
    };
    sleep(Duration::from_millis(millis)).await;
    price
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let cases = [
        ("both are up", (20, Ok(117)), (5, Ok(115))),
        ("live is down", (10, Err("live: refused")), (5, Ok(115))),
        ("live is slow", (400, Ok(117)), (5, Ok(115))),
        (
            "both are down",
            (10, Err("live: refused")),
            (5, Err("cache: empty")),
        ),
    ];
    for (case, live, cache) in cases {
        let services = Services { live, cache };
        let chain = [Fallback::Live, Fallback::Cache, Fallback::Default];
        let race = Race::new(DELAY, |&fallback| price(fallback, services), chain);
        match race.first_ok().await {
            Ok(won) => writeln!(
                io::stdout(),
                "{case}: {} from {:?} after {} ms",
                won.output,
                won.arg,
                won.elapsed.as_millis()
            )?,
            Err(error) => writeln!(io::stdout(), "{case}: {error}")?,
        }
    }
    Ok(())
}
