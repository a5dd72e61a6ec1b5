//! The unit and the image have what `docs/operations.md` says of them.

use std::{collections::BTreeMap, fs, path::Path};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The values of the section `[Service]`, by key.
fn service() -> BTreeMap<String, Vec<String>> {
    let text = read("packaging/hyper-delay.service");
    let lines = text.lines().map(str::trim);
    let lines = lines.skip_while(|line| *line != "[Service]").skip(1);
    let mut values: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in lines.take_while(|line| !line.starts_with('[')) {
        if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            values.entry(key.into()).or_default().push(value.into());
        }
    }
    values
}

#[test]
fn the_unit_notifies_reloads_and_is_watched() {
    let service = service();
    for (key, value) in [
        ("Type", "notify"),
        (
            "ExecStart",
            "/usr/bin/hyper-delay serve --config /etc/hyper-delay.json",
        ),
        ("ExecReload", "/bin/kill -HUP $MAINPID"),
        ("Restart", "on-failure"),
        ("TimeoutStartSec", "infinity"),
        ("WatchdogSec", "3min"),
        // A dump of the memory would have payloads.
        ("WatchdogSignal", "SIGKILL"),
        ("UMask", "0077"),
        ("StateDirectory", "hyper-delay"),
        ("StateDirectoryMode", "0750"),
    ] {
        assert_eq!(service[key], [value], "{key}");
    }
}

#[test]
fn the_unit_is_hardened() {
    let service = service();
    for (key, value) in [
        ("User", "hyper-delay"),
        ("Group", "hyper-delay"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("ProtectProc", "invisible"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
        ("SystemCallArchitectures", "native"),
    ] {
        assert_eq!(service[key], [value], "{key}");
    }
    for key in [
        "NoNewPrivileges",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
        "ProtectClock",
        "ProtectControlGroups",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "RemoveIPC",
        "RestrictNamespaces",
        "RestrictRealtime",
        "RestrictSUIDSGID",
    ] {
        assert_eq!(service[key], ["yes"], "{key}");
    }
    assert_eq!(
        service["SystemCallFilter"],
        ["@system-service", "~@privileged"]
    );
    assert!(!service.contains_key("AmbientCapabilities"));
}

#[test]
fn the_image_has_no_compiler_and_runs_as_a_user_of_its_own() {
    let text = read("../../Dockerfile");
    let instructions: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| !line.starts_with(['#', ' ']))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let stages: Vec<usize> = (0..instructions.len())
        .filter(|place| instructions[*place].0 == "FROM")
        .collect();
    let [build, last] = stages[..] else {
        panic!("{instructions:?} has not two stages");
    };
    assert!(instructions[build].1.ends_with(" AS build"));
    let image = &instructions[last..];
    assert!(!image[0].1.contains("rust"), "{}", image[0].1);
    let of = |name: &str| -> Vec<&str> {
        let found = image.iter().filter(|(key, _)| *key == name);
        found.map(|(_, value)| *value).collect()
    };
    assert_eq!(
        of("COPY"),
        [
            "--from=build /source/target/release/hyper-delay /usr/bin/",
            "crates/hyper-delay/packaging/container.json /etc/hyper-delay.json"
        ]
    );
    assert_eq!(of("USER"), ["hyper-delay"]);
    assert!(of("RUN")[0].starts_with("useradd --system --uid 7000 "));
    assert_eq!(of("VOLUME"), ["/var/lib/hyper-delay"]);
    assert_eq!(of("ENTRYPOINT"), [r#"["hyper-delay"]"#]);
    // After its last instruction as root.
    let place = |name: &str| image.iter().rposition(|(key, _)| *key == name);
    assert!(place("USER") > place("RUN") && place("USER") > place("COPY"));
}
