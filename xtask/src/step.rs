//! One command of a task.

use std::{
    env,
    ffi::OsStr,
    io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use crate::{
    output::{self, Forwarding, Work},
    process::{self, REST},
    report,
};

/// Makes it a failure that a test cannot prove anything: for want of system calls, mounts, network
/// namespaces, a browser, or etcd.
const REQUIRED: [&str; 6] = [
    "HYPER_DELAY_REQUIRE_CHROMIUM",
    "HYPER_DELAY_REQUIRE_ETCD",
    "HYPER_DELAY_REQUIRE_MOUNT",
    "HYPER_DELAY_REQUIRE_STRACE",
    "RACE_REQUIRE_IO_URING",
    "RACE_REQUIRE_NAMESPACES",
];

pub(crate) type Outcome = Result<(), String>;

/// The stream of a command that is not printed.
#[derive(Clone, Copy)]
enum Kept {
    Nothing,
    Output,
    Errors,
}

/// One command, printed before it runs.
pub(crate) struct Step {
    command: Command,
    shown: String,
    cleans: bool,
}

impl Step {
    /// A command line; words are separated by spaces.
    pub(crate) fn new(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command line has a first word");
        let step = Self::of(Command::new(program), program.to_owned());
        words.fold(step, Self::arg)
    }

    fn of(mut command: Command, shown: String) -> Self {
        command.stdin(Stdio::null());
        // `cargo run` adds the libraries of its own toolchain, and a step may use another compiler.
        command.env_remove("LD_LIBRARY_PATH");
        // It also tells what it knows of this package. ring is built again when that changes, with
        // half of the workspace: by each task, and by each cargo without one.
        for (name, _) in env::vars_os() {
            let is_of_package = |name: &str| {
                ["CARGO_PKG_", "CARGO_MANIFEST_"]
                    .iter()
                    .any(|it| name.starts_with(it))
            };
            if name.to_str().is_some_and(is_of_package) {
                command.env_remove(name);
            }
        }
        Self {
            command,
            shown,
            cleans: false,
        }
    }

    /// What must not be left half done: it runs to its end, even if another task has failed.
    pub(crate) fn cleaning(mut self) -> Self {
        self.cleans = true;
        self
    }

    /// A program with a path, which may have spaces, and its arguments.
    pub(crate) fn program(path: &Path, arguments: &str) -> Self {
        let words = arguments.split_whitespace();
        let step = Self::of(Command::new(path), path.to_string_lossy().into_owned());
        words.fold(step, Self::arg)
    }

    /// `cargo` with these arguments. Tests must prove something.
    pub(crate) fn cargo(arguments: &str) -> Self {
        let mut step = Self::new(&format!("cargo {arguments}"));
        // What it prints is counted.
        step.command.env("CARGO_TERM_COLOR", "never");
        // A build that is made once and thrown away needs no information for debuggers, and no
        // state for the next build.
        if env::var("CI").is_ok_and(|value| !["", "false", "0"].contains(&&*value)) {
            step.command
                .env("CARGO_PROFILE_DEV_DEBUG", "0")
                .env("CARGO_INCREMENTAL", "0")
                // That of C, too.
                .env(
                    "CFLAGS",
                    format!("{} -g0", env::var("CFLAGS").unwrap_or_default()),
                );
        }
        match step.is_test() {
            true => REQUIRED.iter().fold(step, |step, name| step.env(name, "1")),
            false => step,
        }
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
    pub(crate) fn path_first(mut self, folder: &Path) -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&path));
        let path = env::join_paths(folders).expect("a folder of tools has no colon");
        self.command.env("PATH", path);
        self
    }

    /// Runs to the end.
    pub(crate) fn run(self) -> Outcome {
        self.run_within(Duration::MAX)
    }

    /// Runs to the end, and kills the process after `limit`.
    pub(crate) fn run_within(self, limit: Duration) -> Outcome {
        self.carry_out(limit, Kept::Nothing)?.0
    }

    /// Runs to the end, kills the process after `limit`, and returns the standard output.
    pub(crate) fn output_within(self, limit: Duration) -> Result<String, String> {
        match self.carry_out(limit, Kept::Output)? {
            (Ok(()), output) => Ok(output),
            (Err(error), output) => Err(format!("{output}{error}")),
        }
    }

    /// Runs to the end, which may be a failure, and returns the standard error. The standard output
    /// is dropped. A failure that says nothing is an error.
    pub(crate) fn errors(self) -> Result<String, String> {
        match self.carry_out(Duration::MAX, Kept::Errors)? {
            (Err(error), errors) if errors.is_empty() => Err(error),
            (_, errors) => Ok(errors),
        }
    }

    /// Prints what the command prints, except what is kept: that is returned beside the outcome.
    fn carry_out(mut self, limit: Duration, kept: Kept) -> Result<(Outcome, String), String> {
        output::say(&format!("$ {}", self.shown));
        let running = report::Running::begin(&self.shown);
        let (child, lines) = self.spawn_piped(kept).map_err(|error| self.failed(error))?;
        let (status, cpu, output) = process::finish(child, limit, self.cleans);
        let mut work = lines.end(REST);
        let output = output.unwrap_or_else(|error| {
            work = Err(error);
            String::new()
        });
        if let Ok(work) = &mut work {
            work.add(&output);
        }
        let judged = self.judge(status).and_then(|()| match &work {
            Err(error) => Err(format!("{}: {error}", self.shown)),
            Ok(work) if self.lacks_tests(work) => {
                Err(format!("{}: no test ran: is the name right?", self.shown))
            }
            Ok(_) => Ok(()),
        });
        running.step_ended(work.unwrap_or_default(), cpu, report::End::of(&judged));
        Ok((judged, output))
    }

    /// Both streams come in one pipe, in their order, unless one is kept.
    fn spawn_piped(&mut self, kept: Kept) -> io::Result<(Child, Forwarding)> {
        let (reader, writer) = io::pipe()?;
        let (stdout, stderr) = match kept {
            Kept::Nothing => (writer.try_clone()?.into(), writer.into()),
            Kept::Output => (Stdio::piped(), writer.into()),
            Kept::Errors => (Stdio::null(), Stdio::piped()),
        };
        let child = self.command.stdout(stdout).stderr(stderr).spawn();
        // The command must not hold the ends of the pipe that belong to the child.
        self.command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok((child?, output::forward(reader)))
    }

    /// The standard output, without announcing the command. `None` if it fails.
    pub(crate) fn output(mut self) -> Option<String> {
        let output = self.command.stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim_end().to_owned())
    }

    /// Starts a process whose standard error is read by the caller.
    pub(crate) fn spawn(mut self) -> Result<Child, String> {
        output::say(&format!("$ {}", self.shown));
        let child = self.command.stderr(Stdio::piped()).spawn();
        child.map_err(|error| self.failed(error))
    }

    /// Whether no test ran where some must: at all, or in a program that `--test` names. Cargo
    /// succeeds if a filter leaves none.
    fn lacks_tests(&self, work: &Work) -> bool {
        let mut words = self.command.get_args().take_while(|word| *word != "--");
        let names_programs = words.any(|word| word == "--test");
        let has_empty = || work.programs.iter().any(|program| program.tests == 0);
        self.is_test() && (work.tests == 0 || names_programs && has_empty())
    }

    /// Whether this runs tests.
    fn is_test(&self) -> bool {
        let words = self.command.get_args().take_while(|word| *word != "--");
        let mut words = words.skip_while(|word| word.to_string_lossy().starts_with('+'));
        self.command.get_program() == "cargo"
            && words.next().is_some_and(|word| word == "test")
            && words.all(|word| word != "--no-run")
    }

    fn failed(&self, error: io::Error) -> String {
        format!("{}: {error}", self.shown)
    }

    fn judge(&self, status: io::Result<ExitStatus>) -> Outcome {
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{}: {status}", self.shown)),
            Err(error) => Err(self.failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Program;

    #[test]
    fn steps_that_run_tests_are_known() {
        for (line, expected) in [
            ("cargo test --workspace", true),
            ("cargo +nightly test --lib name", true),
            ("cargo test --no-run", false),
            ("cargo build -p test", false),
            ("cargo run -- test", false),
            ("test -e file", false),
        ] {
            assert_eq!(Step::new(line).is_test(), expected, "{line}");
        }
    }

    #[test]
    fn failure_without_a_word_is_an_error() {
        let errors = |script: &str| Step::new("sh -c").arg(script).errors();
        assert_eq!(errors("echo why >&2; exit 1").as_deref(), Ok("why\n"));
        assert_eq!(errors("echo no").as_deref(), Ok(""));
        assert!(errors("exit 3").is_err_and(|error| error.contains("exit status: 3")));
    }

    #[test]
    fn run_of_tests_must_run_one() {
        let work = |tests| Work {
            tests,
            ..Work::default()
        };
        let filtered = Step::cargo("test --lib no::such::name");
        assert!(filtered.lacks_tests(&work(0)) && !filtered.lacks_tests(&work(1)));
        assert!(!Step::cargo("build").lacks_tests(&work(0)));
    }

    #[test]
    fn each_program_that_is_named_must_run_a_test() {
        let program = |tests| Program {
            name: String::new(),
            time: [Duration::ZERO; 2],
            tests,
        };
        let work = Work {
            tests: 3,
            programs: vec![program(3), program(0)],
            ..Work::default()
        };
        for (line, expected) in [
            ("test --workspace", false),
            (
                "+nightly test --locked --target one -p race --features a,b --lib",
                false,
            ),
            ("test -p race --lib -- --skip name", false),
            ("test -p race name", false),
            ("test --test race --test suite", true),
            ("test --test race name", true),
        ] {
            assert_eq!(Step::cargo(line).lacks_tests(&work), expected, "{line}");
        }
    }
}
