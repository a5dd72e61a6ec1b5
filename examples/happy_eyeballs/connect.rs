//! The race of connections.

use std::{io, net::SocketAddr, process::ExitCode, time::Duration};

use race::{RaceError, tokio::Race};
use testkit::output::{complain, print};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use crate::log::Log;

/// The Connection Attempt Delay of RFC 8305, section 8, and its minimum.
const DELAY: Duration = Duration::from_millis(250);
const MIN_GAP: Duration = Duration::from_millis(10);

/// The limit for all addresses together.
const DEADLINE: Duration = Duration::from_secs(10);

/// Connects to the first address that accepts, then closes connections that come within `late`.
pub(crate) async fn connect(addresses: Vec<SocketAddr>, late: Duration) -> io::Result<ExitCode> {
    let log = &Log::new();
    let attempt = |&address: &SocketAddr| async move {
        log.note(address, "started");
        let connected = TcpStream::connect(address).await;
        match &connected {
            Ok(_) => log.note(address, "connected"),
            Err(error) => log.note(address, format_args!("failed: {error}")),
        }
        connected
    };

    let race = Race::new(DELAY, attempt, addresses)
        .min_gap(MIN_GAP)
        .deadline(DEADLINE);
    let (result, mut losers) = race.first_ok().keep_race().await;
    print(&log.take())?;
    let won = match result {
        Ok(won) => won,
        Err(error) => {
            explain(&error, losers.len());
            return Ok(ExitCode::FAILURE);
        }
    };
    let millis = won.elapsed.as_millis();
    print(&format!("{} won after {millis} ms\n", won.arg))?;

    // A program would do this in a separate task, and might put the connections into a pool.
    // Without `keep_race`, the losers are cancelled.
    let until = Instant::now() + late;
    while let Ok(Some((address, connected))) = timeout_at(until, losers.next()).await {
        if let Ok(connection) = connected {
            drop(connection);
            log.note(address, "connected late, closed");
        }
    }
    print(&log.take())?;
    Ok(ExitCode::SUCCESS)
}

fn explain(error: &RaceError<SocketAddr, io::Error>, running: usize) {
    let reason = match error {
        RaceError::NoCandidates => "the host has no address",
        RaceError::Deadline { .. } => "no address accepted before the deadline",
        _ => "no address accepted",
    };
    complain(&format!("happy_eyeballs: {reason}"));
    for failed in error.failed() {
        let (index, address, failure) = (failed.index, failed.arg, &failed.failure);
        complain(&format!("#{index} {address}: {failure}"));
    }
    if running > 0 {
        complain(&format!("{running} did not answer within {DEADLINE:?}"));
    }
}
