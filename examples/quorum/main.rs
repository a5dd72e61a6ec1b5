//! A value is read from five replicas, of which three must answer: three are asked at once, a further one
//! when one fails or a delay has passed, and the newest version among their answers counts.
//! When too many fail it is said at once, with what did answer, and nobody is waited for.
//!
//! `cargo run --example quorum`

mod replica;

use std::{env, io, process::ExitCode, time::Duration};

use race::{QuorumError, Steps, tokio::Race};
use testkit::output::{complain, print};

use crate::replica::{Failure, REPLICAS, Replica};

const NEEDED: usize = 3;

/// Two more start with the first, and each of the others when the one before it has had so long.
const STEPS: [Duration; 3] = [Duration::ZERO, Duration::ZERO, Duration::from_millis(60)];

const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Some(arg) = env::args_os().nth(1) {
        complain(&format!(
            "quorum: {arg:?}: it takes no arguments; leave it out"
        ));
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
    print("one stalls, one has failed:\n")?;
    print(&read(REPLICAS).await)?;

    print("\nand two more have failed:\n")?;
    let mut replicas = REPLICAS;
    for place in [0, 4] {
        replicas[place].failure = Some(Failure("cannot be reached"));
    }
    print(&read(replicas).await)
}

/// What became of it, in words.
async fn read(replicas: [Replica; 5]) -> String {
    let race = Race::new(Duration::ZERO, |&it: &Replica| it.read(), replicas);
    let quorum = race.policy(Steps::new(STEPS)).quorum(NEEDED);
    let mut text = String::new();
    match quorum.deadline(PATIENCE).await {
        Ok(answers) => {
            for won in &answers {
                let (name, millis) = (won.arg.name, won.elapsed.as_millis());
                text += &format!("#{} {name}: {} after {millis} ms\n", won.place, won.output);
            }
            let values = answers.iter().map(|won| won.output);
            if let Some(newest) = values.max_by_key(|value| value.version) {
                text += &format!("so it is {newest}\n");
            }
        }
        Err(QuorumError::OutOfReach(tally)) => {
            for failed in &tally.failed {
                let (name, millis) = (failed.arg.name, failed.elapsed.as_millis());
                let why = &failed.failure;
                text += &format!("#{} {name}: {why} after {millis} ms\n", failed.place);
            }
            let (answered, needed) = (tally.accepted.len(), tally.needed);
            text += &format!("out of reach: {needed} are needed, {answered} had answered\n");
        }
        Err(error) => text += &format!("{error}\n"),
    }
    text
}
