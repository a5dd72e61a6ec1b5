//! The clients in Go and Java against a server with the defaults, and against one with TLS and
//! tokens.

use std::{fs, path::Path, process, time::Duration};

use crate::{
    server::{self, Server},
    step::{Outcome, Step},
    workspace,
};

/// The time for a ping.
const LIMIT: Duration = Duration::from_secs(60);

/// The time for both clients: they are compiled, tested, and run against the server.
const CLIENTS_LIMIT: Duration = Duration::from_secs(900);

pub(crate) fn run() -> Outcome {
    workspace::build_tests()?;
    let target = workspace::target()?;
    let program = target.join("debug/hyper-delay");
    let folder = target.join(format!("clients-{}", process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let outcome = check(&program, &folder);
    let _ = fs::remove_dir_all(&folder);
    outcome
}

fn check(program: &Path, folder: &Path) -> Outcome {
    let certificates = Step::new("examples/clients/certificates").arg(folder);
    certificates.run_within(LIMIT)?;
    let file = |name: &str| folder.join(name);
    let new_token =
        "token new --name check --right schedule --right consume --route check-* --file";
    let token = Step::program(program, new_token)
        .arg(file("tokens.json"))
        .output()
        .ok_or("no token was made")?;
    fs::write(file("token"), token).map_err(|error| format!("the token: {error}"))?;
    let plain = start(program, folder, "plain", "")?;
    let secured = format!(
        ",\"tls\":{{\"cert\":{:?},\"key\":{:?},\"client_ca\":{:?}}},\"tokens\":{:?}",
        file("server.pem"),
        file("server.key"),
        file("ca.pem"),
        file("tokens.json")
    );
    let secured = match start(program, folder, "secured", &secured) {
        Ok(secured) => secured,
        Err(error) => return plain.end(Err(error)),
    };
    let outcome = speak(program, &plain, &secured, folder);
    let outcome = secured.end(outcome);
    plain.end(outcome)
}

/// Starts a server whose files have this name, with these fields after the others.
fn start(program: &Path, folder: &Path, name: &str, fields: &str) -> Result<Server, String> {
    let config = folder.join(name).with_extension("json");
    let data = folder.join(name);
    let text = format!(
        "{{\"data_dir\":{data:?},\"bind_addr\":\"127.0.0.1:0\",\"http_addr\":null{fields}}}"
    );
    fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;
    server::start(Step::program(program, "").env("HYPER_DELAY_CONFIG", &config))
}

fn speak(program: &Path, plain: &Server, secured: &Server, folder: &Path) -> Outcome {
    let (plain, secured) = (plain.address(), secured.address());
    Step::program(program, &format!("ping --addr {plain}")).run_within(LIMIT)?;
    let mut check = Step::new(&format!("examples/clients/check {plain} {secured}"));
    check = check.env("HYPER_DELAY_TOKEN_FILE", folder.join("token"));
    for (option, file) in [
        ("-tls-ca", "ca.pem"),
        ("-tls-cert", "client.pem"),
        ("-tls-key", "client.key"),
    ] {
        check = check.arg(option).arg(folder.join(file));
    }
    check.run_within(CLIENTS_LIMIT)
}
