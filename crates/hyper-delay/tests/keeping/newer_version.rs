//! Data of a newer server is refused with a clear message, and is not changed.

use std::{fs, path::Path};

use testkit::request::later;

use crate::process::{run, start, stop};

/// Stops a server with a task, and writes `bytes` at these positions of a file.
fn changed(path: &Path, file: &str, positions: &[usize], bytes: &[u8]) {
    let server = start(path, "data").run();
    server.peer().plan("r", "task", later());
    stop(server);
    let file = path.join("data").join(file);
    let mut content = fs::read(&file).unwrap();
    for at in positions {
        content[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    fs::write(&file, content).unwrap();
}

#[test]
fn a_newer_data_directory_is_refused_also_with_accept_loss_and_by_the_tools() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // The version follows the eight bytes of the magic, in both slots.
    changed(path, "commits", &[8, 4104], &2_u64.to_le_bytes());
    let before = fs::read(path.join("data/commits")).unwrap();
    let log = start(path, "data").try_run().unwrap_err();
    let expected = "the version of its commit record is 2, and this server reads 1; a newer server \
                    wrote it: start that server or a newer one";
    assert!(log.contains(expected), "{log}");
    for line in [
        ["serve", "--accept-loss"].as_slice(),
        &["verify", "data"],
        &["export", "data"],
        &["repair", "data", "--to", "new"],
    ] {
        let error = run(path, line).failed(1);
        assert!(error.contains(expected), "{line:?}: {error}");
    }
    assert_eq!(fs::read(path.join("data/commits")).unwrap(), before);
    assert!(!path.join("new").exists() && !path.join("data/lost-1").exists());
}

#[test]
fn newer_files_of_the_store_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    changed(path, "store/version", &[3], &[4]);
    let log = start(path, "data").try_run().unwrap_err();
    let expected = "the format of its files is 4, and this server reads 3; a newer server wrote it";
    assert!(log.contains(expected), "{log}");
    let error = run(path, &["serve", "--accept-loss"]).failed(1);
    assert!(error.contains(expected), "{error}");
}
