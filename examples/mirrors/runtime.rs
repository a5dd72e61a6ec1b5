//! What the race needs from each runtime: a timer, connections, and a `block_on`.

use std::io;

use race::{
    Timer, async_io::AsyncIoTimer, smol::SmolTimer, thread::ThreadTimer, tokio::TokioTimer,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::compat::FuturesAsyncReadCompatExt as _;

pub(crate) trait Runtime {
    type Timer: Timer + Clone + Default + Unpin;

    fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T>;

    /// Resolves the host and connects to it.
    fn connect(host: &str, port: u16) -> impl Future<Output = io::Result<Connection>>;
}

/// tokio's I/O traits, which hyper and rustls use, do not need tokio's runtime.
pub(crate) type Connection = Box<dyn Io>;

pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

pub(crate) enum Tokio {}

impl Runtime for Tokio {
    type Timer = TokioTimer;

    fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let output = runtime.block_on(future);
        // Does not wait for a thread that still resolves a host for a cancelled attempt.
        runtime.shutdown_background();
        Ok(output)
    }

    async fn connect(host: &str, port: u16) -> io::Result<Connection> {
        let stream = tokio::net::TcpStream::connect((host, port)).await?;
        Ok(Box::new(stream))
    }
}

pub(crate) enum AsyncIo {}

impl Runtime for AsyncIo {
    type Timer = AsyncIoTimer;

    fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
        Ok(async_io::block_on(future))
    }

    async fn connect(host: &str, port: u16) -> io::Result<Connection> {
        let stream = async_net::TcpStream::connect((host, port)).await?;
        Ok(Box::new(stream.compat()))
    }
}

pub(crate) enum Smol {}

impl Runtime for Smol {
    type Timer = SmolTimer;

    fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
        Ok(smol::block_on(future))
    }

    async fn connect(host: &str, port: u16) -> io::Result<Connection> {
        let stream = smol::net::TcpStream::connect((host, port)).await?;
        Ok(Box::new(stream.compat()))
    }
}

/// No runtime: the timer and the sockets have one thread each, and the main thread polls.
pub(crate) enum Thread {}

impl Runtime for Thread {
    type Timer = ThreadTimer;

    fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
        Ok(pollster::block_on(future))
    }

    async fn connect(host: &str, port: u16) -> io::Result<Connection> {
        AsyncIo::connect(host, port).await
    }
}
