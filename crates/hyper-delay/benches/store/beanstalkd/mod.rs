//! The peer: beanstalkd with one sync per put and per delete.

mod load;

use std::{
    io::{self, ErrorKind},
    net::{TcpListener, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use testkit::Process;

pub(crate) use load::{Figures, Work, run};

/// A beanstalkd process in a temporary directory.
pub(crate) struct Beanstalkd {
    process: Process,
    pub(crate) address: String,
    _directory: TempDir,
}

impl Beanstalkd {
    /// Starts beanstalkd and waits until it listens. Returns `None` if it is not installed.
    pub(crate) fn start() -> io::Result<Option<Self>> {
        const PATIENCE: Duration = Duration::from_secs(10);
        const PAUSE: Duration = Duration::from_millis(10);
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let spawned = Process::spawn(
            Command::new("beanstalkd")
                .args(["-l", "127.0.0.1", "-f", "0", "-p", &port.to_string()])
                .arg("-b")
                .arg(directory.path()),
        );
        let process = match spawned {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let address = format!("127.0.0.1:{port}");
        let begin = Instant::now();
        while let Err(error) = TcpStream::connect(&address) {
            if begin.elapsed() > PATIENCE {
                return Err(error);
            }
            thread::sleep(PAUSE);
        }
        Ok(Some(Self {
            process,
            address,
            _directory: directory,
        }))
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}
