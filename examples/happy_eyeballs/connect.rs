//! The race.

use std::{io, net::SocketAddr, process::ExitCode, time::Duration};

use race::{RaceError, tokio::Race};
use testkit::output::{complain, print};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use crate::log::Log;

/// RFC 8305, section 8: the Connection Attempt Delay, and the least it may be.
const STEP: Duration = Duration::from_millis(250);
const MIN_GAP: Duration = Duration::from_millis(10);

/// For all addresses together.
const DEADLINE: Duration = Duration::from_secs(10);

/// Connects to the first of these that can be had, and waits so long for late ones.
pub(crate) async fn connect(addresses: Vec<SocketAddr>, late: Duration) -> io::Result<ExitCode> {
    let log = &Log::new();
    let attempt = |&address: &SocketAddr| async move {
        log.note(address, "is tried");
        let connected = TcpStream::connect(address).await;
        match &connected {
            Ok(_) => log.note(address, "is connected"),
            Err(why) => log.note(address, format_args!("fails: {why}")),
        }
        connected
    };

    let race = Race::new(STEP, attempt, addresses).min_gap(MIN_GAP);
    let (answer, mut losers) = race.first_ok_then_drain().deadline(DEADLINE).await;
    print(&log.take())?;
    let won = match answer {
        Ok(won) => won,
        Err(error) => {
            explain(&error, losers.len());
            return Ok(ExitCode::FAILURE);
        }
    };
    let millis = won.elapsed.as_millis();
    print(&format!("{} has won after {millis} ms\n", won.arg))?;

    // In a program this is a task of its own, which may put them into a pool. One that has no use for late
    // connections takes `first_ok`, which cancels the losers.
    let until = Instant::now() + late;
    while let Ok(Some((address, connected))) = timeout_at(until, losers.next()).await {
        if let Ok(connection) = connected {
            drop(connection);
            log.note(address, "came late, and is closed");
        }
    }
    print(&log.take())?;
    Ok(ExitCode::SUCCESS)
}

fn explain(error: &RaceError<SocketAddr, io::Error>, running: usize) {
    let what = match error {
        RaceError::NoCandidates => "the host has no address",
        RaceError::AllFailed(_) => "no address can be connected to",
        _ => "no address was connected to in time",
    };
    complain(&format!("happy_eyeballs: {what}"));
    for it in error.failed() {
        complain(&format!("#{} {}: {}", it.place, it.arg, it.failure));
    }
    if running > 0 {
        complain(&format!("{running} had not answered after {DEADLINE:?}"));
    }
}
