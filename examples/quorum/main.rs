//! A quorum read: three of five replicas must answer, and the newest version wins.
//!
//! Three replicas are asked at once, and another one after each failure and after a delay. When too
//! many have failed, the read fails at once, with the answers it has.
//!
//! `cargo run --example quorum`

mod replica;

use std::{env, io, process::ExitCode, time::Duration};

use race::{QuorumError, Steps, tokio::Race};
use testkit::output::{complain, print};

use crate::replica::{Failure, REPLICAS, Replica};

const NEEDED: usize = 3;

/// The delays before replicas 1, 2 and 3; the last one repeats.
const DELAYS: [Duration; 3] = [Duration::ZERO, Duration::ZERO, Duration::from_millis(60)];

const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Some(arg) = env::args_os().nth(1) {
        complain(&format!("quorum: {arg:?}: it takes no arguments"));
        return ExitCode::from(2);
    }
    match show().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("quorum: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn show() -> io::Result<()> {
    print("one replica does not answer, one fails:\n")?;
    print(&read(REPLICAS).await)?;

    print("\ntwo more fail:\n")?;
    let mut replicas = REPLICAS;
    for index in [0, 4] {
        replicas[index].failure = Some(Failure("unreachable"));
    }
    print(&read(replicas).await)
}

/// Reads the value. Returns a report.
async fn read(replicas: [Replica; 5]) -> String {
    let read = |&replica: &Replica| replica.read();
    let race = Race::new(Steps::new(DELAYS), read, replicas).deadline(DEADLINE);
    let mut text = String::new();
    match race.quorum(NEEDED).await {
        Ok(answers) => {
            for won in &answers {
                let (name, millis) = (won.arg.name, won.elapsed.as_millis());
                text += &format!("#{} {name}: {} after {millis} ms\n", won.index, won.output);
            }
            let values = answers.iter().map(|won| won.output);
            if let Some(newest) = values.max_by_key(|value| value.version) {
                text += &format!("newest: {newest}\n");
            }
        }
        Err(QuorumError::OutOfReach(mut tally)) => {
            tally.failed.sort_by_key(|failed| failed.index);
            for failed in &tally.failed {
                let (name, millis) = (failed.arg.name, failed.elapsed.as_millis());
                let why = &failed.failure;
                text += &format!("#{} {name}: {why} after {millis} ms\n", failed.index);
            }
            let (answered, needed) = (tally.accepted.len(), tally.needed);
            text += &format!("out of reach: {answered} of {needed} answered\n");
        }
        Err(error) => text += &format!("{error}\n"),
    }
    text
}
