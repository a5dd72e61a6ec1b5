//! The cost of durable scheduling: the disk alone, the store alone, and the whole server compared
//! with beanstalkd.
//!
//! `cargo bench --bench store` runs everything in under three minutes; `-- store` or `-- server`
//! runs a part.

mod median;
mod raw;
mod written;

mod alone;

mod beanstalkd;
mod round;
mod table;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let Some(words) = testkit::bench::words() else {
        println!("run it with: cargo bench --bench store");
        return Ok(());
    };
    let selected = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if selected("store") {
        alone::run()?;
    }
    if selected("server") {
        table::run()?;
    }
    Ok(())
}
