//! A server as a process of its own, with its data on the disk of the build.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Instant,
};

use tempfile::TempDir;

/// A process that ends with this.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).spawn().map(Self)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

/// At once: what it had not synced is in the page cache only.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// hyper-delay, with the defaults.
pub(crate) struct Server {
    process: Process,
    pub(crate) address: String,
    /// When it was started.
    pub(crate) started: Instant,
}

impl Server {
    /// Starts it, and waits until it listens.
    pub(crate) fn start(directory: &Path) -> io::Result<Self> {
        const LISTENING: &str = "listening address=";
        let configuration = directory.join("config.json");
        let data = directory.join("db");
        fs::write(
            &configuration,
            format!("{{\"bind_addr\":\"127.0.0.1:0\",\"data_dir\":{data:?}}}"),
        )?;
        let started = Instant::now();
        let mut process = Process::spawn(
            Command::new(env!("CARGO_BIN_EXE_hyper-delay"))
                .env("HYPER_DELAY_CONFIG", configuration)
                .env_remove("RUST_LOG")
                .stderr(Stdio::piped()),
        )?;
        let mut log = BufReader::new(process.0.stderr.take().expect("it is piped"));
        let mut said = String::new();
        let address = loop {
            let before = said.len();
            if log.read_line(&mut said)? == 0 {
                return Err(io::Error::other(format!("the server ended: {said}")));
            }
            if let Some((_, address)) = said[before..].split_once(LISTENING) {
                break address.trim().to_owned();
            }
        };
        // What it says from now on is shown; somebody has to read it.
        thread::spawn(move || io::copy(&mut log, &mut io::stderr()));
        Ok(Self {
            process,
            address,
            started,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

/// A directory on the disk of the build, which goes with it.
pub(crate) fn directory() -> io::Result<TempDir> {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
}

/// One thread for all of the load.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// The words of the command line that choose what is run; none at all if it is only tried whether it starts, as `cargo
/// test` does.
pub(crate) fn words() -> Option<Vec<String>> {
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with('-'));
    flags.iter().any(|flag| flag == "--bench").then_some(words)
}
