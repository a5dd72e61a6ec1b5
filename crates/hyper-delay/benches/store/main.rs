//! What durable scheduling costs: the disk alone, the store alone, and the whole server beside beanstalkd, in turn.
//!
//! `cargo bench --bench store` is all of it, in under three minutes; `-- store` or `-- server` a part.

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
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if wanted("store") {
        alone::run()?;
    }
    if wanted("server") {
        table::run()?;
    }
    Ok(())
}
