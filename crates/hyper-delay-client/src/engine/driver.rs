use std::future::pending;
use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::stream::{Stream, put};
use super::watch::{Look, Watch};
use super::{Command, Connection, Session};
use crate::ConnectError;
use crate::backoff::Backoff;
use crate::settings::Settings;
use crate::wire::Lines;

/// The maximum number of commands taken at once.
const BATCH: usize = 256;

/// No further command is taken while more bytes than this are unwritten.
const ENOUGH: usize = 256 * 1024;

/// How long to wait at the end for the server to close its side. Closing earlier could reset the
/// connection and discard the last lines.
const LINGER: Duration = Duration::from_secs(1);

/// Runs a client until it is closed or its last handle is dropped.
pub(crate) async fn drive(
    settings: Settings,
    commands: mpsc::UnboundedReceiver<Command>,
    session: Session,
    connection: Connection,
) {
    let mut driver = Driver {
        settings,
        commands,
        session,
        batch: Vec::new(),
        abandoned: false,
    };
    let mut connection = Some(connection);
    while let Some(current) = connection.take() {
        driver.session.resume();
        match driver.serve(current).await {
            Served::Lost(reason) => {
                tracing::info!(address = driver.settings.address, %reason, "lost the connection");
                driver.session.lost();
                connection = driver.reconnect().await;
            }
            Served::Done => {}
        }
    }
    driver.end();
}

#[derive(Debug)]
struct Driver {
    settings: Settings,
    commands: mpsc::UnboundedReceiver<Command>,
    session: Session,
    batch: Vec<Command>,
    /// Whether the last handle was dropped.
    abandoned: bool,
}

enum Served {
    Lost(io::Error),
    Done,
}

impl Driver {
    async fn serve(&mut self, connection: Connection) -> Served {
        let Connection { stream, lines } = connection;
        let served = match stream {
            Stream::Tcp(mut stream) => {
                let (read, write) = stream.split();
                self.serve_halves(read, write, lines).await
            }
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => {
                let (read, write) = tokio::io::split(stream);
                self.serve_halves(read, write, lines).await
            }
        };
        match served {
            Ok(()) => Served::Done,
            Err(error) => Served::Lost(error),
        }
    }

    async fn serve_halves(
        &mut self,
        mut read: impl AsyncRead + Unpin,
        mut write: impl AsyncWrite + Unpin,
        mut lines: Lines,
    ) -> io::Result<()> {
        self.exchange(&mut read, &mut write, &mut lines).await?;
        say_goodbye(&mut read, &mut write).await;
        Ok(())
    }

    /// Exchanges lines until the client is closed or the connection is lost.
    async fn exchange(
        &mut self,
        read: &mut (impl AsyncRead + Unpin),
        write: &mut (impl AsyncWrite + Unpin),
        lines: &mut Lines,
    ) -> io::Result<()> {
        let Self {
            settings,
            commands,
            session,
            batch,
            abandoned,
        } = self;
        let mut writable = true;
        let mut flushed = true;
        let mut watch = Watch::new(settings, Instant::now());
        let mut timer = pin!(sleep(Duration::MAX));

        // Lines that arrived with the reply to `hello`.
        read_all(lines, session);
        while !session.finished() {
            if let Some(wake) = earliest(watch.deadline(), session.deadline()) {
                // Deadlines usually move back: the timer then fires early and is set again.
                if wake < timer.deadline() || timer.is_elapsed() {
                    timer.as_mut().reset(wake);
                }
            }
            let room = !*abandoned && session.unwritten().len() < ENOUGH;
            let unwritten = writable && !(flushed && session.unwritten().is_empty());
            // Reading and taking commands come before writing, so that one write contains all
            // lines.
            tokio::select! {
                biased;
                () = timer.as_mut(), if !timer.is_elapsed() => {
                    let now = Instant::now();
                    if session.expire(now) {
                        break;
                    }
                    match watch.look(now) {
                        Look::Alive => {}
                        Look::Ping => session.ping(),
                        Look::Dead => return Err(io::ErrorKind::TimedOut.into()),
                    }
                }
                filled = lines.fill(read) => {
                    if filled? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    watch.heard(Instant::now());
                    read_all(lines, session);
                }
                count = commands.recv_many(batch, BATCH), if room => {
                    let now = Instant::now();
                    if count == 0 {
                        *abandoned = true;
                        session.abandon(now);
                    }
                    for command in batch.drain(..) {
                        session.take(command, now);
                    }
                }
                written = put(write, session.unwritten(), &mut flushed), if unwritten => match written {
                    Ok(bytes) => session.wrote(bytes),
                    // A server that shuts down may have sent replies.
                    Err(error) => {
                        tracing::debug!(%error, "cannot write; reading the rest");
                        writable = false;
                    }
                },
            }
        }
        Ok(())
    }

    /// Returns `None` if the client has ended in the meantime.
    async fn reconnect(&mut self) -> Option<Connection> {
        let Self {
            settings,
            commands,
            session,
            batch,
            ..
        } = self;
        let mut backoff = Backoff::new(settings.first_delay, settings.max_delay);
        loop {
            let mut opening = pin!(async {
                sleep(backoff.next(fastrand::f64())).await;
                Connection::open(settings).await
            });
            let opened = loop {
                if session.finished() {
                    return None;
                }
                tokio::select! {
                    opened = &mut opening => break opened,
                    count = commands.recv_many(batch, BATCH) => {
                        if count == 0 {
                            return None;
                        }
                        let now = Instant::now();
                        for command in batch.drain(..) {
                            session.take(command, now);
                        }
                    }
                    () = until(session.deadline()) => {
                        if session.expire(Instant::now()) {
                            return None;
                        }
                    }
                }
            };
            match opened {
                Ok(connection) => {
                    tracing::info!(address = settings.address, "reconnected");
                    return Some(connection);
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(%error, cause, "cannot connect; trying again");
                    if let ConnectError::Forbidden { source, .. } = &error {
                        session.forbidden(source);
                    }
                }
            }
        }
    }

    /// Fails everything that still waits.
    fn end(mut self) {
        let (mut closers, open) = self.session.end();
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Close(closer) => closers.push(closer),
                // Dropping its reply sender reports that the client is closed.
                other => drop(other),
            }
        }
        for closer in closers {
            let _ = closer.send(open);
        }
    }
}

/// Passes every complete line to the session. Skips a line that is too long: if it ended the
/// connection, the server would deliver it again with everything in flight.
fn read_all(lines: &mut Lines, session: &mut Session) {
    loop {
        match lines.next() {
            Ok(Some(line)) => session.line(line),
            Ok(None) => return,
            Err(error) => tracing::warn!(%error, "skipped a line"),
        }
    }
}

/// Closes the sending side and waits for the server to do the same.
async fn say_goodbye(read: &mut (impl AsyncRead + Unpin), write: &mut (impl AsyncWrite + Unpin)) {
    let goodbye = async {
        write.shutdown().await?;
        let mut rest = [0; 4096];
        while read.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    // The connection ends in both cases.
    let _ = timeout(LINGER, goodbye).await;
}

fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
