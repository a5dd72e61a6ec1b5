//! Power failures that keep of each directory the names that were synced, and no other one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;
use tempfile::TempDir;
use testkit::{Ended, Wire, process, request::now, server::alone};

use crate::{acks, deliver_all, schedule, strace, trace};

const CALLS: &str = "trace=open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,\
                     unlinkat,rmdir,fsync,fdatasync";

const BINARY: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// A folder, and a trace of what processes do in it.
struct Traced {
    folder: TempDir,
}

impl Traced {
    /// `None` if no process can be traced here.
    fn new() -> Option<Self> {
        strace::is_there().then(|| Self {
            folder: tempfile::tempdir().unwrap(),
        })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn trace(&self) -> PathBuf {
        self.path().join("trace")
    }

    /// The command line before the traced program.
    fn line(&self) -> Vec<String> {
        let trace = self.trace();
        strace::line(&["-yy", "-ttt", "-e", CALLS, "-o", trace.to_str().unwrap()])
    }

    /// Runs a command to its end.
    fn run(&self, arguments: &[&str]) -> String {
        let line = self.line();
        let line = line.iter().map(String::as_str).chain([BINARY]);
        run(self.path(), line.chain(arguments.iter().copied()))
    }

    /// The names that a power failure can remove now that the traced processes have ended.
    fn unsynced(&self) -> BTreeSet<PathBuf> {
        unsynced(&strace::finished(&self.trace()), self.path())
    }

    /// Removes the names that a power failure can remove.
    fn fail(&self) {
        for name in self.unsynced() {
            let removed = match name.is_dir() {
                true => fs::remove_dir_all(&name),
                false => fs::remove_file(&name),
            };
            // It was in a folder that is removed, or is gone anyway.
            let _ = removed;
        }
    }
}

/// Runs a command line to its end, and returns what it prints.
fn run<'a>(directory: &Path, line: impl Iterator<Item = &'a str>) -> String {
    ended(directory, line).done()
}

fn ended<'a>(directory: &Path, mut line: impl Iterator<Item = &'a str>) -> Ended {
    let mut command = Command::new(line.next().unwrap());
    alone(command.args(line), directory);
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
    process::run(command.stderr(Stdio::piped()), b"")
}

/// Returns the names in `folder` that were made and not synced since.
fn unsynced(trace: &str, folder: &Path) -> BTreeSet<PathBuf> {
    // With the lines at which they were made.
    let mut names: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for call in trace::read(trace) {
        if call.has_failed() {
            continue;
        }
        let paths: Vec<_> = quoted(&call.arguments, folder).collect();
        match (&*call.name, &paths[..]) {
            ("open" | "openat" | "creat", [name]) if call.arguments.contains("O_CREAT") => {
                names.entry(name.clone()).or_insert(call.ended);
            }
            ("mkdir" | "mkdirat", [name]) => {
                names.insert(name.clone(), call.ended);
            }
            ("rename" | "renameat" | "renameat2", [from, to]) => {
                let moved = names.iter().filter_map(|(name, made)| {
                    let rest = name.strip_prefix(from).ok()?;
                    (rest != Path::new("")).then(|| (to.join(rest), *made))
                });
                let moved: Vec<_> = moved.collect();
                names.retain(|name, _| !name.starts_with(from));
                names.extend(moved);
                names.insert(to.clone(), call.ended);
            }
            ("unlink" | "unlinkat" | "rmdir", [name]) => {
                names.retain(|other, _| !other.starts_with(name));
            }
            ("fsync" | "fdatasync", []) => {
                let synced = call.arguments.split_once('<');
                let synced = synced.map(|(_, path)| path.trim_end_matches('>'));
                let synced = synced.map(Path::new);
                names.retain(|name, made| name.parent() != synced || *made > call.begun);
            }
            _ => {}
        }
    }
    names.into_keys().collect()
}

/// The quoted paths of a call in a folder. A relative one is in the folder, which is the working
/// directory.
fn quoted<'a>(arguments: &'a str, folder: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let paths = arguments.split('"').skip(1).step_by(2);
    let paths = paths.map(move |path| match path.trim_start_matches("./") {
        "." | "" => folder.to_owned(),
        path => folder.join(path),
    });
    paths.filter(move |path| path.starts_with(folder))
}

#[test]
fn the_first_task_of_a_store_outlives_a_power_failure() {
    let Some(traced) = Traced::new() else {
        return;
    };
    let start = crate::start(traced.path());
    let config = json!({"data_dir": "new/and new/data"});
    let server = start.config(config.clone()).under(traced.line()).run();
    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&schedule("task", now(), 30)).unwrap();
    let ids = acks(&mut wire, 1).unwrap().into_iter().collect();
    server.kill();
    traced.fail();
    deliver_all(&crate::start(traced.path()).config(config).run(), &ids);
}

#[test]
fn tasks_outlive_a_power_failure_after_a_restore_an_import_and_a_repair() {
    let Some(traced) = Traced::new() else {
        return;
    };
    let path = traced.path();
    let server = crate::start(path).run();
    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&schedule("task", now() + 1_000, 30)).unwrap();
    let ids: BTreeSet<String> = acks(&mut wire, 1).unwrap().into_iter().collect();
    let address = server.address.to_string();
    let run = |arguments: &[&str]| run(path, [&[BINARY], arguments].concat().into_iter());
    let backup = run(&["backup", "backups", "--addr", &address]);
    server.kill();
    fs::write(path.join("tasks"), run(&["export", "data"])).unwrap();
    for (command, directory) in [
        (
            &["restore", backup.trim(), "--to", "restored"][..],
            "restored",
        ),
        (&["import", "tasks", "--to", "imported"], "imported"),
        (&["repair", "data", "--to", "repaired"], "repaired"),
    ] {
        traced.run(command);
        traced.fail();
        let server = crate::start(path).config(json!({"data_dir": directory}));
        deliver_all(&server.run(), &ids);
    }
}

#[test]
fn a_revoked_token_stays_revoked_after_a_power_failure() {
    let Some(traced) = Traced::new() else {
        return;
    };
    let file = traced.path().join("tokens");
    let of_file = ["--file", "tokens"];
    let rights = ["--name", "x", "--right", "admin", "--route", "*"];
    let new = [&["token", "new"][..], &rights, &of_file].concat();
    let token = traced.run(&new);
    let id = token.split('_').nth(1).unwrap();
    let is_synced = || !traced.unsynced().contains(&file);
    assert!(is_synced(), "a new file");
    traced.run(&new);
    assert!(is_synced(), "another token");
    traced.run(&[&["token", "revoke", id][..], &of_file].concat());
    assert!(is_synced(), "a token less");
    assert!(!fs::read_to_string(file).unwrap().contains(id));
}

/// The file is replaced, whatever becomes of its folder.
#[test]
fn a_token_file_whose_folder_cannot_be_synced_is_said_to_be_replaced() {
    if !strace::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let inject = "inject=fsync:error=EIO:when=2";
    let strace = strace::line(&["-o", "/dev/null", "-e", "trace=fsync", "-e", inject]);
    let new = [
        "token", "new", "--name", "x", "--right", "admin", "--route", "*", "--file", "tokens",
    ];
    let line = strace.iter().map(String::as_str).chain([BINARY]).chain(new);
    let said = ended(folder.path(), line).failed(1);
    assert!(said.contains("it is replaced, but its folder"), "{said}");
    assert!(said.contains("do it again"), "{said}");
    let tokens = fs::read_to_string(folder.path().join("tokens")).unwrap();
    assert!(tokens.contains("\"x\""), "{tokens}");
}

#[test]
fn names_are_unsynced_until_their_directory_is_synced() {
    let trace = r#"1 0.1 mkdir("data", 0700) = 0
1 0.2 openat(AT_FDCWD</t>, "/t/data/a", O_WRONLY|O_CREAT, 0666) = 3</t/data/a>
1 0.3 fsync(4</t/data>) = 0
1 0.4 openat(AT_FDCWD</t>, "/t/data/b", O_WRONLY|O_CREAT, 0666) = 3</t/data/b>
1 0.5 openat(AT_FDCWD</t>, "/t/data/c", O_RDONLY) = 3</t/data/c>
2 0.6 openat(AT_FDCWD</t>, "/t/data/d", O_WRONLY|O_CREAT, 0666) = -1 EACCES
1 0.7 mkdir("/t/e", 0700) = 0
1 0.8 mkdir("/elsewhere", 0700) = 0
1 0.9 rename("/t/data", "/t/moved") = 0
1 1.0 unlink("/t/e") = 0
"#;
    let names = unsynced(trace, Path::new("/t"));
    let expected = ["/t/moved", "/t/moved/b"].map(PathBuf::from);
    assert_eq!(names, BTreeSet::from(expected));
}
