//! The memory of a server with many pending tasks, and the time to the first delivery after a
//! restart.
//!
//! `cargo bench --bench memory` uses one million tasks; `-- 10M` uses ten million.

mod resident;
mod restart;

use std::{sync::Arc, thread, time::Duration};

use hyper_delay::internals::load::{self, LoadError, Mode, Plan, Tally};
use testkit::{Server, Start};
use tokio::runtime;

use resident::Resident;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let Some(words) = testkit::bench::words() else {
        println!("run it with: cargo bench --bench memory");
        return Ok(());
    };
    let counts = match &words[..] {
        [] => vec![1_000_000],
        given => given
            .iter()
            .map(|word| count(word))
            .collect::<Result<_, _>>()?,
    };
    println!(
        "| pending | schedules/s while filling | resident, MB | anonymous, MB | \
         after SIGKILL and restart: resident, MB | anonymous, MB | first delivery, ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for tasks in counts {
        measure(tasks, "far ahead", Duration::from_secs(86_400))?;
        measure(tasks, "overdue, without a consumer", Duration::ZERO)?;
    }
    println!("\nTargets: 100 MB at 1M, 200 MB at 10M; 1,000 ms.");
    Ok(())
}

/// Parses a number of tasks such as `3000`, `10k` or `10M`.
fn count(word: &str) -> Result<u64, Failure> {
    let (digits, times) = match word.as_bytes().last() {
        Some(b'M') => (&word[..word.len() - 1], 1_000_000),
        Some(b'k') => (&word[..word.len() - 1], 1_000),
        _ => (word, 1),
    };
    let digits: u64 = digits
        .parse()
        .map_err(|_| format!("{word} is not a number of tasks: give one such as 3000 or 1M"))?;
    Ok(digits * times)
}

fn measure(tasks: u64, what: &str, ahead: Duration) -> Result<(), Failure> {
    /// The time for the server's background work to finish.
    const REST: Duration = Duration::from_secs(5);
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    // One thread makes the whole load.
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let server = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path()).run();
    eprintln!("{tasks} {what}: filling");
    let rate = runtime.block_on(fill(&server, "pending", 8, tasks, ahead))?;
    runtime.block_on(fill(&server, "due", 1, 1, Duration::ZERO))?;
    thread::sleep(REST);
    let before = Resident::of(server.id())?;
    drop(server);

    eprintln!("{tasks} {what}: restarting");
    let server = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path()).run();
    // The route with all the overdue tasks is the harder case.
    let route = if ahead.is_zero() { "pending" } else { "due" };
    let delivered = runtime.block_on(restart::first_delivery(&server, &format!("{route}-0000")))?;
    let took = delivered.duration_since(server.started).as_secs_f64() * 1e3;
    thread::sleep(REST);
    let after = Resident::of(server.id())?;
    println!(
        "| {tasks} {what} | {rate:.0} | **{}** | {} | {} | {} | **{took:.0}** |",
        before.all, before.anonymous, after.all, after.anonymous
    );
    Ok(())
}

async fn fill(
    server: &Server,
    name: &str,
    connections: u32,
    tasks: u64,
    ahead: Duration,
) -> Result<f64, LoadError> {
    let plan = Plan {
        tls: None,
        token: None,
        address: server.address.to_string(),
        mode: Mode::Schedule,
        connections,
        pipeline: 256,
        tasks,
        payload_bytes: 100,
        delay: ahead,
        rate: 1,
        keep: true,
        confirm: false,
        name: Some(name.to_owned()),
    };
    let figures = load::run(plan, Arc::new(Tally::new()), None).await?;
    Ok(figures.tasks_per_second)
}
