//! Tells the service manager, usually systemd, what the server does: the protocol of `sd_notify`.
//!
//! Own code, as the messages are a few constants and the crate `sd-notify` does not know abstract
//! sockets.

use std::{
    env,
    ffi::{OsStr, OsString},
    io, process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use tokio::time::{self, MissedTickBehavior};

use hyper_delay_engine::thread_progress::ProgressSnapshot;
use hyper_delay_server::progress::ServerProgress;

/// The shortest time between two signs of life.
const LEAST: Duration = Duration::from_millis(1);

/// The most messages that wait to be sent. If the service manager reads nothing, later ones are
/// left out.
const WAITING: usize = 16;

/// The maximum wait at the end of the process for unsent messages.
const PATIENCE: Duration = Duration::from_secs(1);

/// The service manager, if one has started this process.
#[derive(Debug)]
pub(super) struct ServiceManager {
    sender: Option<MessageSender>,
    /// The longest time without a sign of life.
    watchdog: Option<Duration>,
    is_stopping: AtomicBool,
}

impl ServiceManager {
    /// The service manager that `NOTIFY_SOCKET` and `WATCHDOG_USEC` name.
    pub(super) fn of_environment() -> Self {
        let socket = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        Self {
            sender: socket.and_then(|name| {
                let started = socket::NotifySocket::of(&name).and_then(MessageSender::start);
                started
                    .inspect_err(|error| {
                        tracing::warn!(
                            %error,
                            socket = %name.display(),
                            "NOTIFY_SOCKET cannot be used: the service manager is told nothing"
                        );
                    })
                    .ok()
            }),
            watchdog: watchdog(env::var_os("WATCHDOG_USEC"), env::var_os("WATCHDOG_PID")),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// The server listens, or has reloaded its configuration.
    pub(super) fn ready(&self) {
        if !self.is_stopping.load(Ordering::Acquire) {
            self.send("READY=1\n");
        }
    }

    /// The server is about to reload its configuration.
    #[cfg(unix)]
    pub(super) fn reloading(&self) {
        use rustix::time::{ClockId, clock_gettime};

        if self.is_stopping.load(Ordering::Acquire) {
            return;
        }
        let now = clock_gettime(ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// The server ends.
    pub(super) fn stopping(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.send("STOPPING=1\n");
    }

    /// Sends signs of life, at half of the time that is allowed between two, as long as no thread
    /// is stuck. Returns at once if none are wanted.
    pub(super) async fn watch(&self, progress: &ServerProgress) {
        let Some(allowed) = self.watchdog else {
            return;
        };
        let mut ticks = time::interval((allowed / 2).max(LEAST));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut beats = ProgressSnapshot::default();
        loop {
            ticks.tick().await;
            let stuck = progress.pulses.stuck_threads(&mut beats);
            if stuck.is_empty() {
                self.send("WATCHDOG=1\n");
            } else {
                tracing::error!(
                    threads = %stuck.join(","),
                    "a thread makes no progress: the service manager gets no sign of life"
                );
            }
        }
    }

    /// Waits until all messages are sent, for at most a second. No message is sent after it.
    pub(super) fn finish(&self) {
        if let Some(sender) = &self.sender {
            sender.finish();
        }
    }

    fn send(&self, message: &str) {
        if let Some(sender) = &self.sender {
            sender.send(message);
        }
    }
}

/// A thread that sends messages, so that a service manager which does not read delays nothing.
#[derive(Debug)]
struct MessageSender {
    messages: Mutex<Option<mpsc::SyncSender<String>>>,
    /// Its other end is gone when the thread has ended.
    ended: Mutex<mpsc::Receiver<()>>,
}

impl MessageSender {
    fn start(socket: socket::NotifySocket) -> io::Result<Self> {
        let (messages, received) = mpsc::sync_channel(WAITING);
        let (running, ended) = mpsc::channel();
        let thread = thread::Builder::new().name("service-manager".to_owned());
        thread.spawn(move || {
            let _running: mpsc::Sender<()> = running;
            send_all(&socket, &received);
        })?;
        Ok(Self {
            messages: Mutex::new(Some(messages)),
            ended: Mutex::new(ended),
        })
    }

    fn send(&self, message: &str) {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(messages) = &*messages {
            // If it is full, the thread has already warned.
            let _ = messages.try_send(message.to_owned());
        }
    }

    fn finish(&self) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        drop(messages.take());
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(PATIENCE);
    }
}

/// Sends messages until there are no more. Warns about the first failure in a row.
fn send_all(socket: &socket::NotifySocket, messages: &mpsc::Receiver<String>) {
    let mut had_failed = false;
    for message in messages {
        let sent = socket.send(message.as_bytes());
        if let (Err(error), false) = (&sent, had_failed) {
            let message = message.lines().next();
            tracing::warn!(%error, message, "the service manager could not be told");
        }
        had_failed = sent.is_err();
    }
}

/// Returns the longest time without a sign of life, if the variables give one for this process.
fn watchdog(micros: Option<OsString>, process: Option<OsString>) -> Option<Duration> {
    let number = |value: &OsStr| value.to_str()?.parse::<u64>().ok();
    if process.is_some_and(|id| number(&id) != Some(process::id().into())) {
        return None;
    }
    let micros = number(&micros?).filter(|micros| *micros > 0)?;
    Some(Duration::from_micros(micros))
}

#[cfg(unix)]
mod socket {
    use std::{
        ffi::OsStr,
        io,
        os::unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
        time::Duration,
    };

    /// The maximum wait of a message for a service manager that does not read.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// A socket of this process, and the address of the service manager.
    #[derive(Debug)]
    pub(super) struct NotifySocket(UnixDatagram, SocketAddr);

    impl NotifySocket {
        /// A name that begins with `@` is in the abstract namespace of Linux.
        pub(super) fn of(name: &OsStr) -> io::Result<Self> {
            let address = match name.as_bytes() {
                [b'@', name @ ..] => abstract_name(name)?,
                [b'/', ..] => SocketAddr::from_pathname(name)?,
                _ => return Err(io::Error::other("give an absolute path, or @ and a name")),
            };
            let socket = UnixDatagram::unbound()?;
            socket.set_write_timeout(Some(PATIENCE))?;
            Ok(Self(socket, address))
        }

        pub(super) fn send(&self, message: &[u8]) -> io::Result<usize> {
            self.0.send_to_addr(message, &self.1)
        }
    }

    #[cfg(target_os = "linux")]
    fn abstract_name(name: &[u8]) -> io::Result<SocketAddr> {
        use std::os::linux::net::SocketAddrExt as _;

        SocketAddr::from_abstract_name(name)
    }

    #[cfg(not(target_os = "linux"))]
    fn abstract_name(_name: &[u8]) -> io::Result<SocketAddr> {
        Err(io::Error::other("only Linux has abstract sockets"))
    }
}

/// Other systems have no such socket.
#[cfg(not(unix))]
mod socket {
    use std::{ffi::OsStr, io};

    #[derive(Debug)]
    pub(super) enum NotifySocket {}

    impl NotifySocket {
        pub(super) fn of(_name: &OsStr) -> io::Result<Self> {
            Err(io::Error::other("only Unix systems have it"))
        }

        pub(super) fn send(&self, _message: &[u8]) -> io::Result<usize> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watchdog_is_for_this_process_and_has_a_time() {
        let own = process::id().to_string();
        let set = |micros: &str, process: Option<&str>| {
            watchdog(Some(micros.into()), process.map(OsString::from))
        };
        let second = Some(Duration::from_secs(1));
        assert_eq!(set("1000000", None), second);
        assert_eq!(set("1000000", Some(&own)), second);
        for process in ["1", "", "me"] {
            assert_eq!(set("1000000", Some(process)), None);
        }
        for micros in ["0", "", "-1", "1s"] {
            assert_eq!(set(micros, None), None);
        }
        assert_eq!(watchdog(None, None), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_is_an_absolute_path_or_an_abstract_name() {
        for name in ["relative", "vsock:2:1"] {
            socket::NotifySocket::of(OsStr::new(name)).unwrap_err();
        }
        socket::NotifySocket::of(OsStr::new("/run/notify")).unwrap();
        #[cfg(target_os = "linux")]
        socket::NotifySocket::of(OsStr::new("@notify")).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_service_manager_that_does_not_read_delays_no_thread() {
        use std::{os::unix::net::UnixDatagram, time::Instant};

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let _unread = UnixDatagram::bind(&path).unwrap();
        let other = UnixDatagram::unbound().unwrap();
        other.set_nonblocking(true).unwrap();
        while other.send_to(b"x", &path).is_ok() {}
        let sender =
            MessageSender::start(socket::NotifySocket::of(path.as_os_str()).unwrap()).unwrap();
        let begun = Instant::now();
        // Each would take a second.
        for _ in 0..600 {
            sender.send("WATCHDOG=1\n");
        }
        sender.finish();
        sender.send("after the end");
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}
