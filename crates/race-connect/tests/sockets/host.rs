//! A host with given addresses, and connections to it on each runtime.

use std::{
    any::Any,
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
};

use futures::{Stream, stream};
use race_connect::{
    Answer, ConnectError, HappyEyeballs, Resolve, smol, socket2::Socket, tokio::Connector,
};

pub(crate) const HOST: &str = "host.example";

pub(crate) type Hook = Arc<dyn Fn(&Socket, SocketAddr) -> io::Result<()> + Send + Sync>;

/// Resolves every name to these addresses.
#[derive(Clone, Debug)]
pub(crate) struct Addresses(pub(crate) Vec<SocketAddr>);

impl Resolve for Addresses {
    fn resolve(&self, _: &str, _: u16) -> impl Stream<Item = Answer> + Send {
        stream::iter([Answer::Addresses(self.0.clone())])
    }
}

/// A connection that was made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) address: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) has_nodelay: bool,
    /// Keeps it open.
    _stream: Box<dyn Any>,
}

type OnRuntime = fn(&[SocketAddr], Hook) -> Result<Made, ConnectError>;

/// Connects on each runtime.
pub(crate) const RUNTIMES: [OnRuntime; 2] = [on_tokio, on_smol];

pub(crate) fn block_on_tokio<F: Future>(future: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

fn on_tokio(addresses: &[SocketAddr], hook: Hook) -> Result<Made, ConnectError> {
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(Addresses(addresses.to_vec()))
        .socket(move |socket, address| hook(socket, address));
    block_on_tokio(async {
        let connected = connector.connect(HOST, 0).await?;
        Ok(Made {
            address: connected.address,
            local: connected.connection.local_addr().unwrap(),
            has_nodelay: connected.connection.nodelay().unwrap(),
            _stream: Box::new(connected.connection),
        })
    })
}

fn on_smol(addresses: &[SocketAddr], hook: Hook) -> Result<Made, ConnectError> {
    let connector = smol::Connector::new(HappyEyeballs::new())
        .resolver(Addresses(addresses.to_vec()))
        .socket(move |socket, address| hook(socket, address));
    ::smol::block_on(async {
        let connected = connector.connect(HOST, 0).await?;
        Ok(Made {
            address: connected.address,
            local: connected.connection.local_addr().unwrap(),
            has_nodelay: connected.connection.nodelay().unwrap(),
            _stream: Box::new(connected.connection),
        })
    })
}

/// Starts a server. It accepts by its backlog.
pub(crate) fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}
