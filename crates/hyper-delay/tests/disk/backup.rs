//! Backups into, and restores onto, a disk that is full.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use testkit::{
    Ended, process,
    request::{later, now},
    small::{Small, with_mounts},
};

use crate::full_disk::{Client, stored};

fn run(directory: &Path, line: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    testkit::server::alone(&mut command, directory);
    let command = command.args(line).stdin(Stdio::null());
    process::run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), b"")
}

fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lock").collect()
}

#[test]
fn a_backup_onto_a_full_disk_fails_and_leaves_no_file() {
    with_mounts(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let server = crate::start(path).run();
        let (ids, _) = Client::of(&server).schedule("task", 0..1_000, later(), 3_000);
        assert_eq!(ids.len(), 1_000);
        let address = server.address.to_string();
        let small = Small::new(1);
        let to = small.path().to_str().unwrap();
        let error = run(path, &["backup", to, "--addr", &address]).failed(1);
        assert!(error.contains("No space left on device"), "{error}");
        assert_eq!(entries(small.path()), [""; 0]);
        // The server goes on, and a disk with room takes the next backup.
        assert!(Client::of(&server).takes("more", now(), 300));
        small.enlarge(16);
        run(path, &["backup", to, "--addr", &address]).done();
        assert_eq!(entries(small.path()).len(), 1);
    });
}

#[test]
fn a_restore_onto_a_full_disk_fails_and_leaves_no_store() {
    with_mounts(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let server = crate::start(path).run();
        let (ids, _) = Client::of(&server).schedule("task", 0..4_000, later(), 3_000);
        assert_eq!(ids.len(), 4_000);
        let address = server.address.to_string();
        run(path, &["backup", "backups", "--addr", &address]).done();
        server.kill();
        let backup = format!("backups/{}", entries(&path.join("backups"))[0]);
        let small = Small::new(8);
        let to = small.path().to_str().unwrap();
        let error = run(path, &["restore", &backup, "--to", to]).failed(1);
        let is_named = ["No space left on device", "the disk is full or failing"];
        assert!(
            is_named.iter().any(|cause| error.contains(cause)),
            "{error}"
        );
        assert!(error.contains("make room on the disk"), "{error}");
        for other in ["start the server again", "fjall", "lsm_tree"] {
            assert!(!error.contains(other), "{error}");
        }
        assert_eq!(entries(small.path()), ["restore.unfinished"]);
        small.enlarge(256);
        run(path, &["restore", &backup, "--to", to]).done();
        let server = crate::start(path)
            .config(serde_json::json!({"data_dir": to}))
            .run();
        assert_eq!(stored(&mut server.peer()), 4_000);
        server.kill();
    });
}
