//! Three addresses on loopback for the demo: one refuses, one answers too late, one answers.

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
no host given, using three addresses on loopback: #0 refuses, #1 answers late, #2 answers

";

/// Much longer than a connection on loopback takes: after it, the queue is full.
const FULL: Duration = Duration::from_millis(100);

/// Starts the listeners, which end with the runtime. Returns their addresses in a resolver's order.
pub(crate) async fn start() -> io::Result<Vec<SocketAddr>> {
    // Bound, so that no other process takes the port, but not listening.
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
        // The silent listener accepts from now on. The client's system retransmits its request.
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

/// Fills the queue of a listener that does not accept. When it is full, Linux drops further
/// requests.
async fn fill(address: SocketAddr) -> Vec<TcpStream> {
    let mut queue = Vec::new();
    while let Ok(Ok(connection)) = timeout(FULL, TcpStream::connect(address)).await {
        queue.push(connection);
    }
    queue
}
