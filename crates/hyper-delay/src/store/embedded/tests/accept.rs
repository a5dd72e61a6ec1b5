//! The opening of a store whose loss is accepted fails.

use std::fs;

use super::tool::{Closed, Copy};

/// Lets the opening fail at its last step, and checks that the folder is as before.
fn fails_and_restores(copy: &Copy, folder: &str) {
    let before = copy.files();
    fs::create_dir(copy.path("commits.new")).unwrap();
    copy.accept_loss().unwrap_err();
    let after = copy.files();
    let inside = |name: &&String| name.starts_with(folder);
    assert!(before.keys().any(|name| inside(&name)));
    for name in before.keys().filter(inside) {
        assert_eq!(after.get(name), before.get(name), "{name}");
    }
    fs::remove_dir(copy.path("commits.new")).unwrap();
    drop(copy.accept_loss().unwrap());
}

#[test]
fn moved_folders_are_restored_if_the_opening_fails() {
    let closed = Closed::of(3, 40);
    let copy = closed.copy();
    fs::remove_file(copy.path("store/keyspaces/3/current")).unwrap();
    fails_and_restores(&copy, "store/keyspaces/3/");
    let copy = closed.copy();
    fs::remove_file(copy.path("store/version")).unwrap();
    fails_and_restores(&copy, "store/");
}
