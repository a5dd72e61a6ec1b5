//! Child processes, each killed after [`PATIENCE`].

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::PATIENCE;

/// The result of a process.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
}

#[allow(
    clippy::must_use_candidate,
    reason = "some tests need the assertion only"
)]
impl Ended {
    /// Asserts that the process succeeded, and returns its standard output.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Asserts that the process failed with this code, and returns its standard error.
    #[track_caller]
    pub fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.stderr
    }
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a process without standard input.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).spawn().map(Self)
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// The child.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Sends a signal by name, for example `"TERM"`. See [`signal`].
    #[track_caller]
    pub fn signal(&self, name: &str) {
        signal(&self.0, name);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal by name, for example `"TERM"`.
///
/// After `"STOP"`, waits until all threads have stopped, on Linux: the signal is sent before that.
#[track_caller]
pub fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status();
    assert!(
        sent.expect("`kill` starts").success(),
        "kill -s {name} {id}"
    );
    if name == "STOP" && cfg!(target_os = "linux") {
        let started = Instant::now();
        // Twice: a thread that began while the first list was read is in the second one. No thread
        // begins after one has stopped.
        while !(0..2).all(|_| is_stopped(&id)) {
            assert!(started.elapsed() < PATIENCE, "process {id} does not stop");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Returns whether all threads of a process have stopped or ended.
fn is_stopped(id: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{id}/task")).expect("the process is there");
    threads.flatten().all(|thread| {
        // Nothing can be read of a thread that ends meanwhile.
        let stat = fs::read(thread.path().join("stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        // The state follows the name, which is in parentheses and can have some itself.
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        state.is_none_or(|state| state.starts_with(['T', 't', 'X', 'Z']))
    })
}

/// Runs a command to its end, with this standard input. Standard output and error must be piped.
#[track_caller]
pub fn run(command: &mut Command, input: &[u8]) -> Ended {
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    let spawned = command.spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).expect("the process reads its input");
    }
    finish(child)
}

/// Waits for the end of a process, and reads what is piped.
#[track_caller]
pub fn finish(mut child: Child) -> Ended {
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let status = wait(&mut child);
    let text = |reader: Option<JoinHandle<String>>| {
        reader.map_or_else(String::new, |it| it.join().expect("the output is UTF-8"))
    };
    Ended {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

/// Waits for the end of a process.
#[track_caller]
pub fn wait(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child
            .try_wait()
            .expect("the child was not waited for before")
        {
            return status;
        }
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process still runs after {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        let read = pipe.read_to_string(&mut text);
        read.expect("the output is UTF-8");
        text
    })
}

/// The lines of a pipe as they come.
pub fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn process_is_stopped_when_the_signal_has_been_sent() {
        let sleep = Process::spawn(Command::new("sleep").arg("1000")).expect("`sleep` starts");
        let id = sleep.id().to_string();
        assert!(!is_stopped(&id));
        sleep.signal("STOP");
        assert!(is_stopped(&id));
    }
}
