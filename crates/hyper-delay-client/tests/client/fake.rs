use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use hyper_delay_client::{Builder, Client};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Longer than any machine needs. Only a failing test waits this long.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LONG, future)
        .await
        .expect("it completes long before")
}

/// A server that sends what the test tells it to.
pub(crate) struct Fake {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

/// The server's end of a connection.
pub(crate) struct Peer {
    stream: BufReader<TcpStream>,
}

impl Fake {
    pub(crate) async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    /// A server and a client that is connected and reconnects fast.
    pub(crate) async fn with_client() -> (Self, Peer, Client) {
        Self::with(|builder| builder).await
    }

    pub(crate) async fn with(set_up: impl FnOnce(Builder) -> Builder) -> (Self, Peer, Client) {
        let fake = Self::bind().await;
        let builder = Client::builder(fake.address.to_string())
            .reconnect(Duration::from_millis(1), Duration::from_millis(10))
            .request_timeout(LONG)
            .close_timeout(LONG);
        let (peer, client) = tokio::join!(fake.accept(), set_up(builder).connect());
        (fake, peer, client.unwrap())
    }

    /// Accepts a connection and sends nothing.
    pub(crate) async fn accept_only(&self) -> Peer {
        let (stream, _) = soon(self.listener.accept()).await.unwrap();
        Peer {
            stream: BufReader::new(stream),
        }
    }

    /// Accepts a connection and answers its `hello` as a server before 0.4: it is not strict.
    pub(crate) async fn accept(&self) -> Peer {
        let mut peer = self.accept_only().await;
        assert_eq!(
            peer.read().await,
            json!({"kind": "hello", "protocol": 2, "strict": true}),
            "the first line"
        );
        peer.send(r#"{"kind":"hello","protocol":2,"server":"fake 1"}"#)
            .await;
        peer
    }

    /// Accepts a connection as a server before protocol 2.
    pub(crate) async fn accept_as_old(&self) -> Peer {
        let mut peer = self.accept_only().await;
        peer.expect("hello").await;
        peer.send(r#"{"kind":"error","code":"unknown_kind","message":"kind is \"hello\""}"#)
            .await;
        peer
    }
}

impl Peer {
    pub(crate) async fn read_text(&mut self) -> String {
        let mut line = String::new();
        soon(self.stream.read_line(&mut line)).await.unwrap();
        assert!(
            line.ends_with('\n'),
            "the client closed the connection: {line:?}"
        );
        line
    }

    pub(crate) async fn read(&mut self) -> Value {
        serde_json::from_str(&self.read_text().await).unwrap()
    }

    /// The next line, which must be of this kind.
    pub(crate) async fn expect(&mut self, kind: &str) -> Value {
        let line = self.read().await;
        assert_eq!(line["kind"], kind, "{line}");
        line
    }

    /// Asserts that the client sends no more.
    pub(crate) async fn expect_end(&mut self) {
        let mut rest = String::new();
        soon(self.stream.read_to_string(&mut rest)).await.unwrap();
        assert_eq!(rest, "");
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        soon(self.stream.get_mut().write_all(bytes)).await.unwrap();
    }

    /// Answers a schedule in protocol 2.
    pub(crate) async fn acknowledge(&mut self, schedule: &Value) {
        self.receipt("scheduled", schedule).await;
    }

    /// Answers a schedule with a reply of this kind.
    pub(crate) async fn receipt(&mut self, kind: &str, schedule: &Value) {
        let Value::Object(fields) = schedule else {
            panic!("{schedule} is no request")
        };
        let (tag, id) = (&fields["tag"], &fields["id"]);
        let route = fields
            .get("route_key")
            .cloned()
            .unwrap_or_else(|| "conn-1".into());
        let fire_at = &fields["fire_at"];
        self.send(&format!(
            r#"{{"kind":"{kind}","tag":{tag},"id":{id},"route_key":{route},"fire_at":{fire_at}}}"#
        ))
        .await;
    }

    /// Answers the next line, which must be a `register`, and returns it.
    pub(crate) async fn register(&mut self) -> Value {
        let line = self.expect("register").await;
        let (tag, route) = (&line["tag"], &line["route_key"]);
        let credit = line["credit"].as_u64().unwrap_or(256);
        self.send(&format!(
            r#"{{"kind":"registered","tag":{tag},"route_key":{route},"credit":{credit}}}"#
        ))
        .await;
        line
    }

    /// Delivers the payload "hello" on the route "r".
    pub(crate) async fn deliver(&mut self, id: &str, attempt: u64) {
        self.send(&format!(
            r#"{{"kind":"delivery","id":"{id}","route_key":"r","fire_at":1,"payload_base64":"aGVsbG8=","compression":"none","attempt":{attempt}}}"#
        ))
        .await;
    }
}
