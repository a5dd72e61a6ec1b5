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

/// The files of a store by kind.
pub(super) fn kinds(store: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut kinds: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    walk(&store.join("data"), &mut |path| {
        let inside = path.strip_prefix(store).unwrap().to_owned();
        kinds.entry(kind(&inside)).or_default().push(inside);
    });
    kinds
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
    let what = match parts[place + 2] {
        "tables" => "table",
        name if name.starts_with('v') => "version",
        name => name,
    };
    format!("{what} of {space}")
}

/// Draws cases of every kind of file.
pub(super) fn cases(store: &Path, draw: Draw, random: &mut Rng) -> Vec<Case> {
    let mut cases = Vec::new();
    for (kind, files) in kinds(store) {
        let mut case = |file: &Path, fault| {
            cases.push(Case {
                file: file.to_owned(),
                kind: kind.clone(),
                fault,
            });
        };
        let written: Vec<(PathBuf, u64)> = files
            .iter()
            .map(|file| (file.clone(), written(&store.join(file)).len() as u64))
            .filter(|(_, length)| *length > 0)
            .collect();
        if !written.is_empty() {
            for _ in 0..draw.flips {
                let (file, length) = &written[random.usize(..written.len())];
                case(file, Fault::Flip(random.u64(..length * 8)));
            }
            for _ in 0..draw.cuts {
                let (file, length) = &written[random.usize(..written.len())];
                case(file, Fault::Cut(random.u64(..*length)));
            }
        }
        for _ in 0..draw.deletions {
            case(&files[random.usize(..files.len())], Fault::Delete);
        }
    }
    cases
}

/// The bytes of a file up to the last that is not zero: journals are preallocated with zeros.
pub(super) fn written(file: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0);
    bytes.truncate(end.map_or(0, |end| end + 1));
    bytes
}

impl Case {
    /// A copy of the store that has the fault. Files that no server changes in place are linked.
    pub(super) fn copy(&self, store: &Path) -> TempDir {
        let copy = super::in_memory();
        walk(&store.join("data"), &mut |path| {
            let inside = path.strip_prefix(store).unwrap();
            let to = copy.path().join(inside);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let is_hit = inside == self.file && self.fault != Fault::None;
            if is_hit {
                self.fault.write(path, &to);
            } else if inside.iter().any(|part| part == "tables") {
                fs::hard_link(path, to).unwrap();
            } else {
                lay_out(&to, &written(path), fs::metadata(path).unwrap().len());
            }
        });
        copy
    }
}

impl Fault {
    fn write(self, from: &Path, to: &Path) {
        let mut bytes = written(from);
        let length = fs::metadata(from).unwrap().len();
        match self {
            Self::None => lay_out(to, &bytes, length),
            Self::Delete => {}
            Self::Cut(left) => lay_out(to, &bytes[..usize::try_from(left).unwrap()], left),
            Self::Flip(bit) => {
                bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
                lay_out(to, &bytes, length);
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
