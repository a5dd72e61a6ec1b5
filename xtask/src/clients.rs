//! The clients in Go and Java against a server that runs as the README starts it.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{self, Child, ChildStderr},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use crate::{
    step::{self, Outcome, Step},
    workspace,
};

/// The time for the server to start, and for it to end.
const LIMIT: Duration = Duration::from_secs(60);

/// The time for both clients: they are compiled, tested, and run against the server.
const CLIENTS_LIMIT: Duration = Duration::from_secs(900);

pub(crate) fn run() -> Outcome {
    Step::cargo("build --locked --quiet -p hyper-delay").run()?;
    let target = workspace::target()?;
    let program = target.join("debug/hyper-delay");
    let folder = target.join(format!("clients-{}", process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let outcome = check(&program, &folder);
    let _ = fs::remove_dir_all(&folder);
    outcome
}

fn check(program: &Path, folder: &Path) -> Outcome {
    let (mut server, address) = start(program, folder)?;
    let outcome = speak(program, &address);
    if outcome.is_err() {
        let _ = server.kill();
        let _ = server.wait();
        return outcome;
    }
    Step::new(&format!("kill -TERM {}", server.id())).run()?;
    match step::wait(server, LIMIT) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the server ended with {status}")),
        Err(error) => Err(format!("the server did not end: {error}")),
    }
}

fn speak(program: &Path, address: &str) -> Outcome {
    let program = program.to_string_lossy();
    Step::new(&format!("{program} ping --addr {address}")).run_within(LIMIT)?;
    Step::new(&format!("examples/clients/check {address}")).run_within(CLIENTS_LIMIT)
}

/// Starts a server on a free port, and waits until it listens.
fn start(program: &Path, folder: &Path) -> Result<(Child, String), String> {
    let config: PathBuf = folder.join("config.json");
    let data = folder.join("db");
    let text = format!("{{\"data_dir\":{data:?},\"bind_addr\":\"127.0.0.1:0\"}}");
    fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;
    let mut server = Step::new(&program.to_string_lossy())
        .env("HYPER_DELAY_CONFIG", &config)
        .spawn()?;
    let log = server.stderr.take().expect("the standard error is piped");
    match listening(log).recv_timeout(LIMIT) {
        Ok(address) => Ok((server, address)),
        Err(_) => {
            let _ = server.kill();
            let _ = server.wait();
            Err(format!("the server did not listen within {LIMIT:?}"))
        }
    }
}

/// Sends the address of the line that has it. Prints every line, so that the pipe stays empty.
fn listening(log: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(io::Result::ok) {
            if let Some((_, address)) = line.split_once("listening address=") {
                let _ = sender.send(address.trim().to_owned());
            }
            eprintln!("{line}");
        }
    });
    receiver
}
