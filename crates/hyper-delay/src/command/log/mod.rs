//! The log, on standard error. No thread waits for it: lines go into a buffer, and one thread
//! writes them.

mod buffer;
mod filter;
mod panics;
mod writer;

use std::{
    env,
    io::{self, IsTerminal as _, Write},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use self::buffer::{LogBuffer, LogLine};
use hyper_delay_config::LogFormat;
use hyper_delay_engine::{dropped_log_lines::LogLineKind, scheduler::AUDIT_TARGET};

pub(super) use self::filter::SERVER;
#[cfg(feature = "cluster")]
pub(super) use self::filter::SILENT;

/// The maximum wait at the end of the process for unwritten lines.
const PATIENCE: Duration = Duration::from_secs(1);

static BUFFER: LogBuffer = LogBuffer::new();

/// Starts logging with the filter in `RUST_LOG`, or with `default` if it is unset or unusable. Logs
/// a warning if it is unusable.
pub(super) fn start(default: &str, format: LogFormat) {
    let (filter, complaint) = filter::of_environment(default);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(MakeLineWriter);
    match format {
        LogFormat::Text => lines
            .with_ansi(io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none())
            .init(),
        // The fields stay in an object of their own: one of them could be named as a key beside it.
        LogFormat::Json => lines
            .json()
            .with_ansi(false)
            .with_current_span(false)
            .with_span_list(false)
            .init(),
    }
    panics::log();
    if let Some(complaint) = complaint {
        tracing::warn!("{complaint}");
    }
}

/// Starts logging for a command that is not the server.
pub(super) fn start_client() {
    start(filter::CLIENT, LogFormat::Text);
}

/// Puts a line of text in the log, whatever its filter and format are.
pub(super) fn line(text: &str) {
    put(LogLineKind::Error, format!("{text}\n").into_bytes());
}

/// Waits until the log is written, for at most a second.
pub(super) fn finish() {
    let is_running = *IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_running {
        BUFFER.wait_until_empty(PATIENCE);
        return;
    }
    // No thread and no file could be had, which a line may say.
    for line in BUFFER.drain() {
        let _ = io::stderr().write_all(&writer::text(&line));
    }
}

fn put(kind: LogLineKind, text: Vec<u8>) {
    BUFFER.put(LogLine::new(kind, text));
    // Without success the lines wait, and the next one tries again.
    let _ = start_writing();
}

/// Whether the thread runs that writes.
static IS_RUNNING: Mutex<bool> = Mutex::new(false);

/// Starts the thread that writes, unless it runs.
fn start_writing() -> io::Result<()> {
    let mut is_running = IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_running {
        let out = writer::standard_error()?;
        let writing = thread::Builder::new().name("log".to_owned());
        writing.spawn(move || writer::run(&BUFFER, out))?;
        *is_running = true;
    }
    Ok(())
}

/// Makes a writer for each line.
#[derive(Debug)]
struct MakeLineWriter;

impl<'a> MakeWriter<'a> for MakeLineWriter {
    type Writer = LogLineWriter;

    fn make_writer(&'a self) -> LogLineWriter {
        LogLineWriter(LogLineKind::Other)
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> LogLineWriter {
        LogLineWriter(match *metadata.level() {
            _ if metadata.target() == AUDIT_TARGET => LogLineKind::Audit,
            Level::ERROR => LogLineKind::Error,
            _ => LogLineKind::Other,
        })
    }
}

/// Takes a line in one piece.
#[derive(Debug)]
struct LogLineWriter(LogLineKind);

impl Write for LogLineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        put(self.0, line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
