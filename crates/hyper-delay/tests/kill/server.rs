//! The real binary, over a directory of its own.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

/// Nothing that is waited for takes longer than this, on however slow a machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<String>>,
}

/// How a server is to be started.
pub(crate) struct Start<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) sync: &'a str,
    /// What comes before the program on the command line: a tracer, say.
    pub(crate) under: Vec<String>,
}

impl<'a> Start<'a> {
    pub(crate) fn new(directory: &'a Path) -> Self {
        Self {
            directory,
            sync: "always",
            under: Vec::new(),
        }
    }

    /// The command, with its configuration written.
    fn command(&self) -> Command {
        let config: PathBuf = self.directory.join("config.json");
        let data = self.directory.join("data");
        let text = serde_json::json!({
            "data_dir": data,
            "bind_addr": "127.0.0.1:0",
            "sync": self.sync,
            "ack_timeout_ms": 1500,
            "retry_delay_ms": 20,
            "max_retry_delay_ms": 200,
            "window_ms": 1000,
            "dedupe_seconds": 100_000,
        });
        fs::write(&config, text.to_string()).unwrap();
        let program = env!("CARGO_BIN_EXE_hyper-delay").to_owned();
        let line: Vec<String> = self.under.iter().cloned().chain([program]).collect();
        let mut command = Command::new(&line[0]);
        command
            .args(&line[1..])
            .env("HYPER_DELAY_CONFIG", config)
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Starts it, and waits until it listens.
    pub(crate) fn run(&self) -> Server {
        self.try_run()
            .unwrap_or_else(|log| panic!("it has not started:\n{log}"))
    }

    /// The same; if it ends before it listens, gives what it said.
    pub(crate) fn try_run(&self) -> Result<Server, String> {
        let mut child = self.command().spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (sender, listening) = mpsc::channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let kept = log.clone();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if line.contains("listening")
                    && let Some((_, address)) = line.split_once("address=")
                {
                    let address = address.split_whitespace().next().unwrap_or_default();
                    let _ = sender.send(address.parse().unwrap());
                }
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        match listening.recv_timeout(PATIENCE) {
            Ok(address) => Ok(Server {
                child,
                address,
                log,
            }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(log.lock().unwrap().clone())
            }
        }
    }
}

impl Server {
    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Any signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &process])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for its end, and gives what it said.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // Its last words may still be on their way.
                thread::sleep(Duration::from_millis(50));
                let log = self.log.lock().unwrap().clone();
                return (status, log);
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
