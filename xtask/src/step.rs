use std::{
    env,
    ffi::OsStr,
    io::{self, Read as _},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

pub(crate) type Outcome = Result<(), String>;

/// One command, printed before it runs.
pub(crate) struct Step {
    command: Command,
    shown: String,
}

impl Step {
    /// A command line; words are separated by spaces.
    pub(crate) fn new(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().expect("a command line has a first word"));
        command.args(words).stdin(Stdio::null());
        // `cargo run` adds the libraries of its own toolchain, and a step may use another compiler.
        command.env_remove("LD_LIBRARY_PATH");
        Self {
            command,
            shown: line.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }

    /// `cargo` with these arguments.
    pub(crate) fn cargo(arguments: &str) -> Self {
        Self::new(&format!("cargo {arguments}"))
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref();
        let text = value.to_string_lossy();
        self.shown = match text.contains(' ') {
            true => format!("{name}=\"{text}\" {}", self.shown),
            false => format!("{name}={text} {}", self.shown),
        };
        self.command.env(name, value);
        self
    }

    /// One argument, which may have spaces.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        let argument = argument.as_ref();
        self.shown = format!("{} {}", self.shown, argument.to_string_lossy());
        self.command.arg(argument);
        self
    }

    pub(crate) fn directory(mut self, path: &str) -> Self {
        self.shown = format!("(cd {path}) {}", self.shown);
        self.command.current_dir(path);
        self
    }

    /// Looks for the program in this folder first.
    pub(crate) fn path_first(mut self, folder: &std::path::Path) -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&path));
        let path = env::join_paths(folders).expect("a folder of the target directory has no colon");
        self.command.env("PATH", path);
        self
    }

    /// Drops the standard output.
    pub(crate) fn quiet(mut self) -> Self {
        self.command.stdout(Stdio::null());
        self
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> Outcome {
        self.announce();
        let status = self.command.status();
        self.judge(status)
    }

    /// Runs to the end, and kills the process after `limit`.
    pub(crate) fn run_within(mut self, limit: Duration) -> Outcome {
        self.announce();
        let status = self.command.spawn().and_then(|child| wait(child, limit));
        self.judge(status)
    }

    /// The standard output, without announcing the command. `None` if it fails.
    pub(crate) fn output(mut self) -> Option<String> {
        let output = self.command.stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim_end().to_owned())
    }

    /// Runs to the end, kills the process after `limit`, and returns the standard output.
    pub(crate) fn output_within(mut self, limit: Duration) -> Result<String, String> {
        self.announce();
        let child = self.command.stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("{}: {error}", self.shown))?;
        let mut output = child.stdout.take().expect("it is piped");
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.read_to_end(&mut bytes);
            read.map(|_| String::from_utf8_lossy(&bytes).into_owned())
        });
        let status = wait(child, limit);
        let text = reader.join().expect("reading does not panic");
        let text = text.map_err(|error| format!("{}: {error}", self.shown))?;
        match self.judge(status) {
            Ok(()) => Ok(text),
            Err(error) => Err(format!("{text}{error}")),
        }
    }

    /// The standard error, without announcing the command. The standard output is dropped.
    pub(crate) fn errors(mut self) -> Result<String, String> {
        let output = self.command.stdout(Stdio::null()).output();
        let output = output.map_err(|error| format!("{}: {error}", self.shown))?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Starts a process whose standard error is read by the caller.
    pub(crate) fn spawn(mut self) -> Result<Child, String> {
        self.announce();
        let child = self.command.stderr(Stdio::piped()).spawn();
        child.map_err(|error| format!("{}: {error}", self.shown))
    }

    fn announce(&self) {
        println!("\n$ {}", self.shown);
    }

    fn judge(&self, status: io::Result<ExitStatus>) -> Outcome {
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{}: {status}", self.shown)),
            Err(error) => Err(format!("{}: {error}", self.shown)),
        }
    }
}

/// Waits for the end of a process, and kills it after `limit`.
pub(crate) fn wait(mut child: Child, limit: Duration) -> io::Result<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if started.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            let message = format!("killed after {limit:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        thread::sleep(Duration::from_millis(10));
    }
}
