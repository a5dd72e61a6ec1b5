use std::{convert::Infallible, future::ready, io, net::SocketAddr, time::Duration};

use futures::stream;
use http_body_util::StreamBody;
use hyper::{
    Response,
    body::{Bytes, Frame},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::mpsc, time::sleep};

const ANSWER: [&str; 6] = ["The", "first", "token", "decides", "the", "race."];

/// The time between two tokens.
const PACE: Duration = Duration::from_millis(40);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// For each client that closed its connection before the end of its answer: how many tokens
    /// were sent.
    pub(crate) cancelled: mpsc::UnboundedReceiver<usize>,
}

/// Starts a server for one connection, whose first token takes this long.
pub(crate) async fn start(first: Duration) -> io::Result<Server> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (send, cancelled) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let serve = service_fn(|_| {
            let tokens = stream::unfold(Answer::new(first, send.clone()), Answer::next);
            let response = Response::builder().header("content-type", "text/event-stream");
            ready(response.body(StreamBody::new(tokens)))
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), serve);
        connection.await.map_err(io::Error::other)
    });
    Ok(Server { address, cancelled })
}

/// The tokens that are not sent yet.
struct Answer {
    wait: Duration,
    sent: usize,
    cancelled: Option<mpsc::UnboundedSender<usize>>,
}

impl Answer {
    fn new(wait: Duration, cancelled: mpsc::UnboundedSender<usize>) -> Self {
        Self {
            wait,
            sent: 0,
            cancelled: Some(cancelled),
        }
    }

    async fn next(mut self) -> Option<(Result<Frame<Bytes>, Infallible>, Self)> {
        sleep(self.wait).await;
        let Some(token) = ANSWER.get(self.sent) else {
            self.cancelled = None; // it is complete
            return None;
        };
        (self.sent, self.wait) = (self.sent + 1, PACE);
        let event = Bytes::from(format!("data: {token}\n\n"));
        Some((Ok(Frame::data(event)), self))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(cancelled) = self.cancelled.take() {
            let _gone = cancelled.send(self.sent);
        }
    }
}
