use std::{io, time::Duration};

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use hyper_delay_config::Config;

/// Keepalive probes that stay unanswered before the connection is closed.
const PROBES: u32 = 3;

/// Sets the options of an accepted socket. They end a connection whose peer no longer responds.
pub(crate) fn set_socket_options(stream: &TcpStream, config: &Config) -> io::Result<()> {
    let idle = Duration::from_secs(config.keepalive_seconds);
    let timeout = Duration::from_secs(config.user_timeout_seconds);
    detect_dead_peer(stream, idle, timeout)
}

/// Lets a connection end when its peer no longer responds: it is asked after `idle`, and what was
/// sent to it is acknowledged within `timeout`. Small writes are sent at once.
///
/// # Errors
///
/// If the system refuses an option.
pub fn detect_dead_peer(stream: &TcpStream, idle: Duration, timeout: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let second = Duration::from_secs(1);
    let interval = Duration::from_secs((idle / PROBES).as_secs()).max(second);
    let keepalive = TcpKeepalive::new()
        .with_time(idle.max(second))
        .with_interval(interval);
    #[cfg(unix)]
    let keepalive = keepalive.with_retries(PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(timeout))?;
    #[cfg(not(target_os = "linux"))]
    let _ = timeout;
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_accepted_socket_has_keepalive_and_a_user_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let config = Config {
            keepalive_seconds: 12,
            user_timeout_seconds: 7,
            ..Config::default()
        };
        set_socket_options(&stream, &config).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(
            socket.tcp_keepalive_time().unwrap(),
            Duration::from_secs(12)
        );
        assert_eq!(
            socket.tcp_keepalive_interval().unwrap(),
            Duration::from_secs(4)
        );
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
        let timeout = socket.tcp_user_timeout().unwrap();
        assert_eq!(timeout, Some(Duration::from_secs(7)));
    }
}
