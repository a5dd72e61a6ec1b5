use crate::process::alone;

const COMMANDS: [&str; 25] = [
    "serve",
    "schedule",
    "listen",
    "cancel",
    "get",
    "list",
    "stats",
    "future",
    "dead",
    "reasons",
    "purge",
    "jobs",
    "pause",
    "resume",
    "audit",
    "ping",
    "backup",
    "restore",
    "verify",
    "repair",
    "export",
    "import",
    "bench",
    "run-now",
    "reschedule",
];

#[test]
fn the_help_of_every_command_has_an_example_and_fits_100_columns() {
    for command in COMMANDS {
        let help = alone(&[command, "--help"]).done();
        assert!(help.contains("Example"), "{help}");
        assert!(help.contains(&format!("hyper-delay {command}")), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
}

#[test]
fn the_help_names_every_command() {
    let help = alone(&["--help"]).done();
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
}

#[test]
fn the_version_is_that_of_the_crate() {
    let version = alone(&["--version"]).done();
    assert_eq!(
        version,
        format!("hyper-delay {}\n", env!("CARGO_PKG_VERSION"))
    );
}
