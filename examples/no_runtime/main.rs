//! A race without a runtime: `cargo run --example no_runtime`.
//!
//! Three "servers" that block a thread each, as `std::net` would, behind a small future; a race of them
//! with a timer on a thread of its own; and `pollster`, which polls on this thread and parks it meanwhile. The
//! core does not care who does what.

use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    process::ExitCode,
    thread,
    time::Duration,
};

use futures::channel::oneshot;
use race::Race;
use testkit::output::{complain, print};

/// How long the servers take to answer, in milliseconds.
const LATENCIES: [u64; 3] = [400, 30, 60];
const STEP: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("no_runtime: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let servers = LATENCIES.map(Duration::from_millis).map(serve);
    let race = Race::of(
        STEP,
        servers.map(|server| async move { ask(server?).await }),
    );
    let won = pollster::block_on(race.first_ok().deadline(Duration::from_secs(5)));
    let won = won.map_err(|error| io::Error::other(error.to_string()))?;
    let after = won.elapsed.as_millis();
    print(&format!(
        "server #{} said {:?} after {after} ms\n",
        won.place, won.output
    ))
}

/// A server on loopback that answers one connection, if one comes.
fn serve(latency: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || -> io::Result<()> {
        let (mut connection, _) = listener.accept()?;
        thread::sleep(latency);
        io::Write::write_all(&mut connection, b"hello")
    });
    Ok(address)
}

/// Asks on a thread of its own; a future of what it says. Dropped, it no longer listens to that thread.
async fn ask(server: SocketAddr) -> io::Result<String> {
    let (answer, answered) = oneshot::channel();
    thread::spawn(move || {
        let said = TcpStream::connect(server).and_then(io::read_to_string);
        // Nobody may be listening any more.
        let _ = answer.send(said);
    });
    answered.await.map_err(io::Error::other)?
}
