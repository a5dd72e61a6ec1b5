//! Examples as real processes, which are given up on after a while.

use std::{
    env,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// When to give up on anything that must happen, on a machine however slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a process left behind.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs an example to its end.
pub(crate) fn run(example: &str, args: &[&str]) -> Ended {
    finish(start(example, args))
}

/// Starts an example.
pub(crate) fn start(example: &str, args: &[&str]) -> Child {
    let path = built(example);
    Command::new(&path)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// `cargo test` builds the examples, next to the tests; `cargo test --test NAME` does not, and what is
/// there may be of yesterday.
fn built(example: &str) -> PathBuf {
    let test = env::current_exe().expect("a test knows where it is");
    let profile = test.ancestors().nth(2).expect("target/<profile>/deps/test");
    let file = format!("{example}{}", env::consts::EXE_SUFFIX);
    let path = profile.join("examples").join(file);
    let changed = |path: PathBuf| path.metadata().and_then(|it| it.modified()).ok();

    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let sources = [example, "shared"].into_iter().flat_map(|folder| {
        let sources = examples.join(folder).read_dir();
        sources.expect("an example has a folder").flatten()
    });
    let newest = sources.filter_map(|source| changed(source.path())).max();
    let fresh = changed(path.clone()) >= newest;
    assert!(
        fresh,
        "{path:?} is out of date: run `cargo build --example {example}` before"
    );
    path
}

/// Waits for the end.
pub(crate) fn finish(mut child: Child) -> Ended {
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let began = Instant::now();
    let status = loop {
        match child.try_wait().expect("the child is ours") {
            Some(status) => break status,
            None if began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = child.kill();
                panic!("it still runs after {PATIENCE:?}");
            }
        }
    };
    let text = |reader: Option<thread::JoinHandle<String>>| {
        reader.map_or_else(String::new, |it| it.join().expect("it reads to the end"))
    };
    Ended {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).expect("it writes utf-8");
        text
    })
}
