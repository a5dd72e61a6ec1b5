//! Counts the instructions of a workload with callgrind.
//!
//! Callgrind runs this executable twice, with few turns and with many. The difference gives the
//! instructions per turn, without those of the start and of the setup.

pub(crate) mod compiler;

use std::{
    env,
    error::Error,
    ffi::OsStr,
    path::Path,
    process::{Child, Command, Stdio},
};

/// The two numbers of turns.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) few: u64,
    pub(crate) many: u64,
}

impl Turns {
    /// Returns the number of events per turn.
    pub(crate) fn each(self, few: u64, many: u64) -> f64 {
        (many as f64 - few as f64) / (self.many - self.few) as f64
    }
}

/// Returns the number of instructions per turn. The executable gets the number of turns as its last
/// argument.
pub(crate) fn per_turn(arguments: &[&str], turns: Turns) -> Result<f64, Box<dyn Error>> {
    let start = |turns| Run::start(arguments, turns, ["--callgrind-out-file=/dev/null"]);
    let (few, many) = (start(turns.few)?, start(turns.many)?);
    Ok(turns.each(few.finish()?, many.finish()?))
}

/// A run of this executable under callgrind.
pub(crate) struct Run(Child);

impl Run {
    /// Starts a run. Of the environment only `PATH` is kept, and the path of the executable and the
    /// number of turns have constant lengths, because their length changes later addresses, and so
    /// the instructions of the allocator.
    pub(crate) fn start(
        arguments: &[&str],
        turns: u64,
        options: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self, Box<dyn Error>> {
        let executable = env::current_exe()?;
        let (Some(folder), Some(name)) = (executable.parent(), executable.file_name()) else {
            return Err("unexpected path of the executable".into());
        };
        let child = Command::new("valgrind")
            .current_dir(folder)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .arg("--tool=callgrind")
            .args(options)
            .arg(Path::new(".").join(name))
            .args(arguments)
            .arg(format!("{turns:08}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                format!("cannot run valgrind: {error}; install Debian's package `valgrind`")
            })?;
        Ok(Self(child))
    }

    /// Waits for the end, and returns the number of instructions of the whole run.
    pub(crate) fn finish(self) -> Result<u64, Box<dyn Error>> {
        let output = self.0.wait_with_output()?;
        let report = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("the run under callgrind failed: {report}").into());
        }
        let count = report.split("Collected :").nth(1);
        let count = count.and_then(|rest| rest.split_whitespace().next());
        let count = count.ok_or_else(|| format!("unexpected output of callgrind: {report}"))?;
        Ok(count.parse()?)
    }
}
