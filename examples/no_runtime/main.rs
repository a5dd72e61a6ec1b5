//! A race without a runtime: `cargo run --example no_runtime`.
//!
//! Three servers are asked with blocking calls of `std::net`, each on a thread of its own. The
//! timer of the race has one thread as well, and `pollster` polls the race on the main thread.

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

/// The latencies of the servers in milliseconds.
const LATENCIES: [u64; 3] = [400, 30, 60];
const DELAY: Duration = Duration::from_millis(50);

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
    let attempts = servers.map(|server| async move { ask(server?).await });
    let race = Race::of(DELAY, attempts).deadline(Duration::from_secs(5));
    let won = pollster::block_on(race.first_ok());
    let won = won.map_err(|error| io::Error::other(error.to_string()))?;
    let millis = won.elapsed.as_millis();
    print(&format!(
        "server #{} answered {:?} after {millis} ms\n",
        won.index, won.output
    ))
}

/// Starts a server on loopback that answers one connection.
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

/// Asks the server on a thread of its own. If the future is dropped, that thread's answer is
/// dropped.
async fn ask(server: SocketAddr) -> io::Result<String> {
    let (answer, answered) = oneshot::channel();
    thread::spawn(move || {
        let result = TcpStream::connect(server).and_then(io::read_to_string);
        // The future may have been dropped.
        let _ = answer.send(result);
    });
    answered.await.map_err(io::Error::other)?
}
