//! The hyper-delay server as a process.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{ChildStderr, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{PATIENCE, Peer, Process, process};

/// How to start a server. Its working directory has the configuration and the data.
#[derive(Debug)]
pub struct Start<'a> {
    program: &'a str,
    directory: &'a Path,
    config: Value,
    under: Vec<String>,
    flags: Vec<String>,
    environment: Vec<(String, OsString)>,
}

impl<'a> Start<'a> {
    /// The binary, in this working directory, with the default configuration, a free port and no
    /// HTTP listener.
    #[must_use]
    pub fn new(program: &'a str, directory: &'a Path) -> Self {
        Self {
            program,
            directory,
            config: json!({"bind_addr": "127.0.0.1:0", "http_addr": null}),
            under: Vec::new(),
            flags: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Sets these fields of the configuration; the others stay.
    #[must_use]
    pub fn config(mut self, fields: Value) -> Self {
        let Value::Object(fields) = fields else {
            panic!("a configuration is an object: {fields}");
        };
        let config = self.config.as_object_mut().expect("it starts as an object");
        config.extend(fields);
        self
    }

    /// Puts a command, for example a tracer and its options, before the program.
    #[must_use]
    pub fn under(mut self, command: Vec<String>) -> Self {
        self.under = command;
        self
    }

    /// Passes these arguments to the program.
    #[must_use]
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Starts the server and waits until it listens.
    #[must_use]
    #[track_caller]
    pub fn run(&self) -> Server {
        self.try_run()
            .unwrap_or_else(|log| panic!("the server does not listen:\n{log}"))
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    ///
    /// Its log, if it ends before it listens.
    pub fn try_run(&self) -> Result<Server, String> {
        let config = self.directory.join("config.json");
        fs::write(&config, self.config.to_string()).expect("the directory is writable");
        let mut line = self.under.iter().map(String::as_str).chain([self.program]);
        let mut command = Command::new(line.next().expect("the program is in the line"));
        command
            .args(line)
            .args(&self.flags)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        alone(&mut command, self.directory);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));

        let started = Instant::now();
        let mut process = Process::spawn(&mut command).expect("the program starts");
        let (sender, listening) = mpsc::channel();
        let stderr = process.child().stderr.take().expect("it is piped");
        let log = Log::read(stderr, sender);
        match listening.recv_timeout(PATIENCE) {
            Ok(address) => Ok(Server {
                process,
                address,
                started,
                log,
            }),
            Err(_) => {
                drop(process);
                Err(log.whole())
            }
        }
    }
}

/// Sets the working directory, and removes what would configure the program from the environment.
pub fn alone(command: &mut Command, directory: &Path) {
    command
        .current_dir(directory)
        .env_remove("HYPER_DELAY_ADDR")
        .env_remove("HYPER_DELAY_BIND_ADDR")
        .env_remove("HYPER_DELAY_CONFIG")
        .env_remove("HYPER_DELAY_TLS")
        .env_remove("HYPER_DELAY_TLS_CA")
        .env_remove("HYPER_DELAY_TLS_CERT")
        .env_remove("HYPER_DELAY_TLS_KEY")
        .env_remove("HYPER_DELAY_TLS_NAME")
        .env_remove("HYPER_DELAY_TOKEN")
        .env_remove("HYPER_DELAY_TOKEN_FILE")
        .env_remove("HYPER_DELAY_DATA_DIR")
        .env_remove("NOTIFY_SOCKET")
        .env_remove("RUST_LOG");
}

/// A server that listens. Killed when dropped.
#[derive(Debug)]
pub struct Server {
    process: Process,
    log: Log,
    /// The address it listens on.
    pub address: SocketAddr,
    /// The time just before the process was started.
    pub started: Instant,
}

impl Server {
    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends SIGKILL and waits for the end.
    pub fn kill(self) {
        drop(self);
    }

    /// Sends a signal by name, for example `"TERM"`.
    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// The log up to now.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Waits until the log has a line that contains `text`, and returns that line.
    ///
    /// A thread reads the log, so a line can come after the reply to the request that caused it.
    #[expect(clippy::must_use_candidate, reason = "the wait alone is a check")]
    #[track_caller]
    pub fn logs(&self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let log = self.log();
            if let Some(line) = log.lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(start.elapsed() < PATIENCE, "no line has {text:?}:\n{log}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The address of its HTTP listener.
    #[must_use]
    #[track_caller]
    pub fn http(&self) -> SocketAddr {
        let line = self.logs("serving HTTP address=");
        let (_, address) = line.split_once("address=").expect("the line has it");
        let address = address.split_whitespace().next().unwrap_or_default();
        address.parse().expect("the log has an address")
    }

    /// Waits for the end; the exit status and the whole log.
    #[must_use]
    #[track_caller]
    pub fn ended(mut self) -> (ExitStatus, String) {
        let status = process::wait(self.process.child());
        (status, self.log.whole())
    }

    /// A new connection.
    #[must_use]
    pub fn peer(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// A new connection that has registered a route.
    #[must_use]
    pub fn consumer(&self, route: &str) -> Peer {
        let mut peer = self.peer();
        peer.register(route);
        peer
    }
}

/// The address in a line of the log, as text or as JSON, if it is the line that has it.
fn address(line: &str) -> Option<String> {
    if let Some((_, rest)) = line.split_once("listening address=") {
        return rest.split_whitespace().next().map(str::to_owned);
    }
    let line: Value = serde_json::from_str(line).ok()?;
    let fields = &line["fields"];
    let is_listening = fields["message"] == "listening";
    is_listening.then(|| fields["address"].as_str().map(str::to_owned))?
}

/// The standard error of a server, read by a thread.
#[derive(Debug)]
struct Log {
    text: Arc<Mutex<String>>,
    /// Disconnected at the end of the log.
    end: Receiver<()>,
}

impl Log {
    /// Reads to the end, and sends the address of the line that has it.
    fn read(stderr: ChildStderr, listening: Sender<SocketAddr>) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let (open, end) = mpsc::channel();
        let kept = Arc::clone(&text);
        thread::spawn(move || {
            let _open: Sender<()> = open;
            // Dropped at the end of the log, which tells that the server does not listen.
            let listening = listening;
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push_str(&line);
                    kept.push('\n');
                }
                if let Some(address) = address(&line) {
                    let _ = listening.send(address.parse().expect("the log has an address"));
                }
            }
        });
        Self { text, end }
    }

    fn text(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        text.clone()
    }

    /// The text at the end of the log. A tracer may keep it open a little longer than the server.
    fn whole(&self) -> String {
        let _ = self.end.recv_timeout(PATIENCE);
        self.text()
    }
}
