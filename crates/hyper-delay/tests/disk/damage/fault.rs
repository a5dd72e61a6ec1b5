//! One fault in one file of a store, and the copy of the store that has it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use fastrand::Rng;
use tempfile::TempDir;

/// The spaces by the number of their folder.
const SPACES: [&str; 10] = [
    "the store's list of spaces",
    "tasks",
    "names",
    "waiting",
    "parked",
    "dead",
    "done-even",
    "done-odd",
    "counts",
    "meta",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The number of a bit of the written extent.
    Flip(u64),
    /// The length that is left.
    Cut(u64),
    Delete,
}

/// A fault and the file that has it, relative to the fixture.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) file: PathBuf,
    pub(super) kind: String,
    pub(super) fault: Fault,
}

/// How many cases to draw for each kind of file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) flips: usize,
    pub(super) cuts: usize,
    pub(super) deletions: usize,
}

/// The files of a store.
#[derive(Debug)]
pub(super) struct Files {
    store: PathBuf,
    /// By the path relative to `store`.
    files: BTreeMap<PathBuf, Content>,
}

#[derive(Debug)]
struct Content {
    /// The bytes up to the last that is not zero: journals are preallocated with zeros.
    written: Vec<u8>,
    length: u64,
}

/// What a file is for, in words.
fn kind(file: &Path) -> String {
    let parts: Vec<&str> = file.iter().map(|part| part.to_str().unwrap()).collect();
    let name = *parts.last().unwrap();
    if name.ends_with(".jnl") {
        return "journal".to_owned();
    }
    let Some(place) = parts.iter().position(|part| *part == "keyspaces") else {
        return parts[1..].join("/");
    };
    let space = SPACES[parts[place + 1].parse::<usize>().unwrap()];
    // Only tables differ from space to space.
    let any = if space == SPACES[0] { space } else { "a space" };
    match parts[place + 2] {
        "tables" => format!("table of {space}"),
        name if name.starts_with('v') => format!("version of {any}"),
        name => format!("{name} of {any}"),
    }
}

impl Files {
    /// Reads all files below `data` in a directory.
    pub(super) fn read(store: &Path) -> Self {
        let mut files = BTreeMap::new();
        walk(&store.join("data"), &mut |path| {
            let inside = path.strip_prefix(store).unwrap().to_owned();
            files.insert(inside, Content::read(path));
        });
        Self {
            store: store.to_owned(),
            files,
        }
    }

    /// The paths by kind.
    pub(super) fn kinds(&self) -> BTreeMap<String, Vec<&Path>> {
        let mut kinds: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
        for file in self.files.keys() {
            kinds.entry(kind(file)).or_default().push(file);
        }
        kinds
    }

    /// The length of a file, and that of its written extent.
    pub(super) fn extent(&self, file: &Path) -> (u64, u64) {
        let content = &self.files[file];
        (content.length, content.written.len() as u64)
    }

    /// Draws cases of every kind of file.
    pub(super) fn cases(&self, draw: Draw, random: &mut Rng) -> Vec<Case> {
        let mut cases = Vec::new();
        for (kind, files) in self.kinds() {
            let mut case = |file: &Path, fault| {
                cases.push(Case {
                    file: file.to_owned(),
                    kind: kind.clone(),
                    fault,
                });
            };
            let written: Vec<(&Path, u64)> = files
                .iter()
                .map(|file| (*file, self.extent(file).1))
                .filter(|(_, written)| *written > 0)
                .collect();
            if !written.is_empty() {
                for _ in 0..draw.flips {
                    let (file, written) = written[random.usize(..written.len())];
                    case(file, Fault::Flip(random.u64(..written * 8)));
                }
                for _ in 0..draw.cuts {
                    let (file, written) = written[random.usize(..written.len())];
                    case(file, Fault::Cut(random.u64(..written)));
                }
            }
            for _ in 0..draw.deletions {
                case(files[random.usize(..files.len())], Fault::Delete);
            }
        }
        cases
    }

    /// Makes a copy of the store that has a fault. Files that no server changes in place are
    /// linked.
    pub(super) fn copy(&self, case: &Case) -> TempDir {
        let copy = super::in_memory();
        for (file, content) in &self.files {
            let to = copy.path().join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            if *file == case.file {
                case.fault.write(content, &to);
            } else if file.iter().any(|part| part == "tables") {
                fs::hard_link(self.store.join(file), to).unwrap();
            } else {
                content.write(&to);
            }
        }
        copy
    }
}

impl Content {
    fn read(file: &Path) -> Self {
        let mut written = fs::read(file).unwrap();
        let length = written.len() as u64;
        let end = written.iter().rposition(|byte| *byte != 0);
        written.truncate(end.map_or(0, |end| end + 1));
        written.shrink_to_fit();
        Self { written, length }
    }

    fn write(&self, to: &Path) {
        lay_out(to, &self.written, self.length);
    }
}

impl Fault {
    fn write(self, content: &Content, to: &Path) {
        let Content { written, length } = content;
        match self {
            Self::None => content.write(to),
            Self::Delete => {}
            Self::Cut(left) => lay_out(to, &written[..usize::try_from(left).unwrap()], left),
            Self::Flip(bit) => {
                let mut bytes = written.clone();
                bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
                lay_out(to, &bytes, *length);
            }
        }
    }
}

/// Writes bytes and then zeros that take no room.
fn lay_out(to: &Path, bytes: &[u8], length: u64) {
    let mut file = File::create(to).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(length).unwrap();
}

fn walk(directory: &Path, visit: &mut dyn FnMut(&Path)) {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, visit);
        } else {
            visit(&path);
        }
    }
}
