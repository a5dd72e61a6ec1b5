use std::net::SocketAddr;

use http_body_util::Empty;
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use race::AttemptHandle;
use testkit::output::print;
use tokio::{net::TcpStream, task::JoinSet};

use crate::{Error, events::Events};

/// Asks a server and prints the tokens of its answer, from the first one on if it is the first of
/// all. Returns their number.
pub(crate) async fn ask(server: SocketAddr, mut attempt: AttemptHandle) -> Result<usize, Error> {
    let stream = TcpStream::connect(server).await?;
    attempt.progress();
    let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut connections = JoinSet::new(); // closes the connection when it is dropped
    connections.spawn(connection);

    let request = Request::get("/")
        .header("host", "example")
        .body(Empty::<Bytes>::new())?;
    let answer = requests.send_request(request).await?;
    let mut events = Events::new(answer.into_body());
    let mut token = events.next().await?.ok_or("the answer is empty")?;

    // From here on, this is the only attempt.
    attempt.commit().await;
    let mut tokens = 0;
    loop {
        print(&format!("{token} "))?;
        tokens += 1;
        match events.next().await? {
            Some(next) => token = next,
            None => return Ok(tokens),
        }
    }
}
