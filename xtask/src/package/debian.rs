//! The Debian package, from its build to its purge, and the image of the Dockerfile.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    output, server,
    step::{Outcome, Step},
    tools, workspace,
};

const NAME: &str = "hyper-delay";

/// What the package may leave behind: the tasks.
const DATA: &str = "/var/lib/hyper-delay";

const UNIT: [&str; 2] = [
    "/usr/lib/systemd/system/hyper-delay.service",
    "/lib/systemd/system/hyper-delay.service",
];

/// Files of the package beside the unit.
const FILES: [&str; 7] = [
    "/usr/bin/hyper-delay",
    "/etc/hyper-delay.json",
    "/usr/share/man/man1/hyper-delay-schedule.1.gz",
    "/usr/share/bash-completion/completions/hyper-delay",
    "/usr/share/zsh/vendor-completions/_hyper-delay",
    "/usr/share/fish/vendor_completions.d/hyper-delay.fish",
    "/usr/share/doc/hyper-delay/operations.md",
];

/// The time for a command of the package.
const LIMIT: Duration = Duration::from_secs(60);

/// Packages the dev build of the tests. Installs the package, runs the server as its unit does, and
/// purges it, on a machine where that is possible and changes nothing of the user's.
pub(crate) fn run() -> Outcome {
    check("dev", "debug")
}

/// The same with a release build, and the image of the Dockerfile.
pub(crate) fn release() -> Outcome {
    Step::cargo("build --locked --release -p hyper-delay").run()?;
    check("release", "release")?;
    image()
}

/// Packages the program in `target/FOLDER`, which `profile` has built.
fn check(profile: &str, folder: &str) -> Outcome {
    workspace::build_tests()?;
    let program = workspace::target()?.join(folder).join(NAME);
    manual(&program)?;
    let package = build(profile)?;
    match obstacle() {
        // There the machine is made for it.
        Some(obstacle) if env::var_os("GITHUB_ACTIONS").is_some() => {
            Err(format!("the package is not installed: {obstacle}"))
        }
        Some(obstacle) => {
            output::say(&format!("not installed: {obstacle}"));
            Ok(())
        }
        None => try_out(&package),
    }
}

/// Writes the manual pages and completions, and checks them.
fn manual(program: &Path) -> Outcome {
    let folder = "target/manual";
    let writes = workspace::target()?.join("debug/examples/manual");
    Step::program(&writes, folder).run()?;
    let pages = workspace::entries(&Path::new(folder).join("man1"))?;
    let help = Step::program(program, "--help").output();
    let help = help.ok_or("hyper-delay --help failed")?;
    let commands = help
        .split("\nCommands:\n")
        .nth(1)
        .ok_or("the help has no commands")?;
    let lines = commands.lines().take_while(|line| !line.is_empty());
    // The second line of a description has a deeper indent.
    let commands = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for command in commands.filter(|name| !name.is_empty()) {
        let page = Path::new(folder).join(format!("man1/{NAME}-{command}.1"));
        if command != "help" && !pages.contains(&page) {
            return Err(format!("{} is missing", page.display()));
        }
    }
    if Step::new("groff --version").output().is_some() {
        for page in &pages {
            let warnings = Step::new("groff -man -ww -z -Tutf8").arg(page).errors()?;
            if !warnings.is_empty() {
                return Err(format!("{}: {warnings}", page.display()));
            }
        }
    }
    output::say(&format!("{} manual pages", pages.len()));
    Step::new("bash -n target/manual/bash/hyper-delay.bash").run()
}

/// Returns the path of the package.
fn build(profile: &str) -> Result<PathBuf, String> {
    // How small a dev build gets does not matter.
    let (file, compression) = match profile {
        "dev" => ("hyper-delay-dev.deb", "--fast "),
        _ => ("hyper-delay.deb", ""),
    };
    let package = workspace::target()?.join(file);
    Step::cargo(&format!(
        "deb --locked --no-build {compression}--profile {profile} -p hyper-delay --output"
    ))
    .arg(&package)
    .path_first(&tools::cargo_deb()?)
    .run()?;
    Ok(package)
}

/// Why the package cannot be installed here.
fn obstacle() -> Option<String> {
    let output = |line: &str| Step::new(line).output();
    if output("dpkg --version").is_none() {
        return Some("this machine has no dpkg".to_owned());
    }
    if output("id -u").as_deref() != Some("0") {
        return Some("this needs root".to_owned());
    }
    if output("dpkg-query --status adduser").is_none() {
        return Some("the package adduser is missing".to_owned());
    }
    if output("dpkg-query --status hyper-delay").is_some() {
        let cure = "if a killed run left it, run dpkg --purge hyper-delay";
        return Some(format!("hyper-delay is installed here: {cure}"));
    }
    let own = [DATA, FILES[0], FILES[1]];
    let found = own.into_iter().find(|path| Path::new(path).exists())?;
    Some(format!("{found} exists, and is left alone"))
}

fn try_out(package: &Path) -> Outcome {
    let outcome = installed(package);
    // Also after a failure: nothing may stay.
    let purged = purged();
    let _ = fs::remove_dir_all(DATA);
    let _ = Step::new("deluser --system --quiet hyper-delay").output();
    outcome.and(purged)
}

fn installed(package: &Path) -> Outcome {
    Step::new("dpkg --install").arg(package).cleaning().run()?;
    if Path::new("/run/systemd/system").exists() {
        // The package has started it.
        Step::new("systemctl stop hyper-delay").cleaning().run()?;
    }
    for file in FILES {
        if !Path::new(file).exists() {
            return Err(format!("the package has no {file}"));
        }
    }
    let conffiles = Step::new("dpkg-query --show --showformat ${Conffiles} hyper-delay").output();
    if !conffiles.is_some_and(|files| files.contains("/etc/hyper-delay.json ")) {
        return Err("/etc/hyper-delay.json is no conffile".to_owned());
    }
    let unit = UNIT.into_iter().find(|unit| Path::new(unit).exists());
    let unit = unit.ok_or("the package has no unit")?;
    if Step::new("systemd-analyze --version").output().is_some() {
        Step::new("systemd-analyze verify --man=no")
            .arg(unit)
            .run()?;
        // 10 is no protection at all; a usual unit has 9.
        Step::new("systemd-analyze security --no-pager --offline=yes --threshold=25")
            .arg(unit)
            .run()?;
    }
    let text = fs::read_to_string(unit).map_err(|error| format!("{unit}: {error}"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let line = line.ok_or_else(|| format!("{unit} has no ExecStart"))?;
    serve(line)
}

/// Runs the command line of the unit as its user, on a free port, twice: the second server has the
/// task of the first.
fn serve(line: &str) -> Outcome {
    let as_user = format!("setpriv --reuid hyper-delay --regid hyper-delay --clear-groups {line}");
    for run in 1..=2 {
        let step = Step::new(&as_user)
            .env("HYPER_DELAY_BIND_ADDR", "127.0.0.1:0")
            .directory(DATA);
        let server = server::start(step)?;
        let address = server.address().to_owned();
        let ask = |words: &str| Step::new(&format!("{NAME} {words} --addr {address}"));
        let outcome = match run {
            1 => ask("schedule hello --route packaged --in 1h --id one").run_within(LIMIT),
            _ => ask("cancel packaged one").run_within(LIMIT),
        };
        server.end(outcome)?;
    }
    Ok(())
}

/// Purges the package, and checks that it leaves the tasks and nothing else.
fn purged() -> Outcome {
    let had_tasks = Path::new(DATA).join("db").exists();
    Step::new("dpkg --purge hyper-delay").cleaning().run()?;
    let all = FILES.iter().chain(&UNIT);
    if let Some(left) = all.into_iter().find(|path| Path::new(path).exists()) {
        return Err(format!("the purge left {left}"));
    }
    if had_tasks && !Path::new(DATA).join("db").exists() {
        return Err(format!("the purge deleted the tasks in {DATA}"));
    }
    Ok(())
}

/// Builds the image, if a container engine runs here.
fn image() -> Outcome {
    let engines = ["docker", "podman"].into_iter();
    let mut running = engines.filter(|it| Step::new(&format!("{it} info")).output().is_some());
    match running.next() {
        Some(engine) => Step::new(&format!("{engine} build --quiet -t hyper-delay .")).run(),
        None => {
            output::say("no image: no container engine runs here");
            Ok(())
        }
    }
}
