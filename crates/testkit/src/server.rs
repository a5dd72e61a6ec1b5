//! The hyper-delay server as a process.

use std::{
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
}

impl<'a> Start<'a> {
    /// The binary, in this working directory, with the default configuration and a free port.
    #[must_use]
    pub fn new(program: &'a str, directory: &'a Path) -> Self {
        Self {
            program,
            directory,
            config: json!({"bind_addr": "127.0.0.1:0"}),
            under: Vec::new(),
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
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        alone(&mut command, self.directory);

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
        .env_remove("HYPER_DELAY_CONFIG")
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
                if let Some((_, address)) = line.split_once("listening address=") {
                    let address = address.split_whitespace().next().unwrap_or_default();
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
