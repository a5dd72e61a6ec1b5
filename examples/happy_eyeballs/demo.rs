//! Three addresses on loopback, for those who name no host: one refuses, one does not answer until it is too
//! late, one answers.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};

pub(crate) const WHAT: &str = "\
no host given: three addresses on loopback; #0 refuses, #1 does not answer in time, #2 answers

";

/// What a connection on loopback takes, and much more; so one that takes longer does not come.
const FULL: Duration = Duration::from_millis(100);

/// In the order in which a resolver would give them. All ends with the runtime.
pub(crate) async fn start() -> io::Result<Vec<SocketAddr>> {
    // Bound, so that nobody else is, but not listening.
    let refuses = bind((Ipv6Addr::LOCALHOST, 0).into());
    let refuses = refuses.or_else(|_| bind((Ipv4Addr::LOCALHOST, 0).into()))?;
    let silent = bind((Ipv4Addr::LOCALHOST, 0).into())?.listen(1)?;
    let answers = bind((Ipv4Addr::LOCALHOST, 0).into())?.listen(8)?;
    let addresses = vec![
        refuses.local_addr()?,
        silent.local_addr()?,
        answers.local_addr()?,
    ];
    let queue = fill(addresses[1]).await;
    tokio::spawn(async move {
        let _refuses = refuses;
        let _first = answers.accept().await;
        // From now on the silent one has time. The system of the one who waits asks it again after a while.
        drop(queue);
        let mut connections = Vec::new();
        while let Ok(connection) = silent.accept().await {
            connections.push(connection);
        }
    });
    Ok(addresses)
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    socket.bind(address)?;
    Ok(socket)
}

/// Fills the queue of one who does not accept. When it is full, Linux drops what else arrives.
async fn fill(address: SocketAddr) -> Vec<TcpStream> {
    let mut queue = Vec::new();
    while let Ok(Ok(connection)) = timeout(FULL, TcpStream::connect(address)).await {
        queue.push(connection);
    }
    queue
}
