//! A small file system, which can be filled and enlarged.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use tempfile::TempDir;

/// Makes it an error if no file system can be mounted.
pub const REQUIRE: &str = "HYPER_DELAY_REQUIRE_MOUNT";

/// Set in a test that runs again inside namespaces of its own.
const INSIDE: &str = "HYPER_DELAY_TEST_MOUNTS";

/// Runs a test where file systems can be mounted. Where they cannot, nothing is proved, which is
/// said, or fails if [`REQUIRE`] is set.
pub fn with_mounts(test: impl FnOnce()) {
    with_or_without_mounts(|can_mount| match can_mount {
        true => test(),
        false => println!("NOTE: nothing is proved here: a small file system cannot be mounted"),
    });
}

/// Runs a test where file systems can be mounted, if that is possible: here, or else again as a
/// process in namespaces of a user and of mounts. The test is told whether it can mount any. It is
/// an error that it cannot if [`REQUIRE`] is set.
pub fn with_or_without_mounts(test: impl FnOnce(bool)) {
    let place = tempfile::tempdir().expect("a folder can be made");
    if mount("size=1m", place.path()) {
        unmount(place.path());
        return test(true);
    }
    assert!(env::var_os(INSIDE).is_none(), "no mounts in a namespace");
    let unshare = ["--user", "--map-root-user", "--mount"];
    let works = Command::new("unshare").args(unshare).arg("true").status();
    if !works.is_ok_and(|status| status.success()) {
        assert!(
            env::var_os(REQUIRE).is_none(),
            "{REQUIRE} is set, and neither mount nor unshare works: \
             run as root, or allow user namespaces"
        );
        return test(false);
    }
    let name = thread::current().name().expect("a test has one").to_owned();
    let status = Command::new("unshare")
        .args(unshare)
        .arg(env::current_exe().expect("it runs"))
        .args([&name, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .status();
    let status = status.expect("it ran a moment ago");
    assert!(status.success(), "{name} failed in a namespace");
}

/// A file system in memory.
#[derive(Debug)]
pub struct Small {
    place: TempDir,
}

impl Small {
    /// Mounts one of this size.
    #[must_use]
    pub fn new(mebibytes: usize) -> Self {
        let place = tempfile::tempdir().expect("a folder can be made");
        assert!(mount(&format!("size={mebibytes}m"), place.path()));
        Self { place }
    }

    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Changes its size.
    pub fn enlarge(&self, mebibytes: usize) {
        assert!(mount(&format!("remount,size={mebibytes}m"), self.path()));
    }

    /// Fills what is left, to the last byte. Another program does so with its log.
    pub fn fill(&self) {
        let mut file = fs::File::options()
            .create(true)
            .append(true)
            .open(self.other())
            .expect("the file can be made");
        for block in [&[7; 1 << 20][..], &[7; 4_096]] {
            while file.write_all(block).is_ok() {}
        }
    }

    /// Removes what was filled.
    pub fn free(&self) {
        fs::remove_file(self.other()).expect("it was filled");
    }

    /// Returns the bytes that a server has set aside in the folder `data`.
    #[must_use]
    pub fn reserve(&self) -> u64 {
        let reserve = fs::metadata(self.path().join("data/reserve"));
        reserve.map_or(0, |metadata| metadata.len())
    }

    fn other(&self) -> PathBuf {
        self.path().join("other")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        unmount(self.path());
    }
}

fn mount(options: &str, place: &Path) -> bool {
    Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "hyper-delay-test"])
        .arg(place)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn unmount(place: &Path) {
    let _ = Command::new("umount").arg("--lazy").arg(place).status();
}
