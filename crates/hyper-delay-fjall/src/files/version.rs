//! Lists the current tables of a space. The file `current` names the newest version file, which
//! lists the tables.
//!
//! ```text
//! current      = see `files::current_file`
//! version file = sections, "TOC!", sections: u32,
//!                (at: u64, length: u64, name length: u16, name)*, trailer
//! trailer      = see `trailer`
//! tables       = levels: u8,
//!                (runs: u8, (tables: u32, (id: u64, 0, checksum: u128, shift: u64)*)*)*
//! ```

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::Xxh3;

use super::{CurrentFile, FileFault, trailer};

/// A table that belongs to the newest version, or may belong to it.
#[derive(Debug, Clone)]
pub struct TableFile {
    /// The file.
    pub path: PathBuf,
    /// The checksum of the whole file, if it is known.
    checksum: Option<u128>,
    /// Added to the sequence numbers in the file.
    pub shift: u64,
}

impl TableFile {
    /// One that is in no version that can be read.
    #[must_use]
    pub const fn unlisted(path: PathBuf) -> Self {
        Self {
            path,
            checksum: None,
            shift: 0,
        }
    }

    /// Compares the file with the checksum in the version file.
    ///
    /// # Errors
    ///
    /// If they differ, or the file cannot be read.
    pub fn check(&self) -> Result<(), FileFault> {
        let Some(checksum) = self.checksum else {
            return Ok(());
        };
        let found =
            digest(&self.path).map_err(|error| FileFault::unreadable(&self.path, &error))?;
        if found == checksum {
            Ok(())
        } else {
            let what = "the checksum of the whole file does not match";
            Err(FileFault::new(&self.path, what))
        }
    }
}

fn digest(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let mut hasher = Xxh3::new();
    let mut chunk = vec![0; 256 << 10];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hasher.digest128()),
            read => hasher.update(&chunk[..read]),
        }
    }
}

/// Lists the tables of the newest version of the space in a folder.
///
/// # Errors
///
/// If the version cannot be read.
pub fn newest(folder: &Path) -> Result<Vec<TableFile>, FileFault> {
    let current = folder.join("current");
    let read = |path: &Path| fs::read(path).map_err(|error| FileFault::unreadable(path, &error));
    let bytes = read(&current)?;
    let malformed = || FileFault::new(&current, "it is malformed");
    let newest = CurrentFile::decode(&bytes).filter(|current| current.checksum_type == 0);
    let newest = newest.ok_or_else(malformed)?;
    let path = folder.join(newest.version_file_name());
    let bytes = read(&path)?;
    if !newest.matches(&bytes) {
        let what = "its checksum is not the one that the file current has";
        return Err(FileFault::new(&path, what));
    }
    let tables =
        find_section(&bytes, b"tables").and_then(|section| parse_table_list(section, folder));
    tables.ok_or_else(|| FileFault::new(&path, "it is malformed"))
}

fn find_section<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (rest, trailer) = bytes.split_last_chunk()?;
    let contents = usize::try_from(trailer::contents(trailer)?).ok()?;
    let mut fields = VersionFields(rest.get(contents..)?.strip_prefix(b"TOC!")?);
    for _ in 0..fields.u32()? {
        let (at, length) = (fields.size()?, fields.size()?);
        let name_length = u16::from_le_bytes(fields.array()?);
        let found = fields.take(usize::from(name_length))?;
        if found == name {
            return bytes.get(at..at.checked_add(length)?);
        }
    }
    None
}

fn parse_table_list(section: &[u8], folder: &Path) -> Option<Vec<TableFile>> {
    let mut fields = VersionFields(section);
    let mut tables = Vec::new();
    let [levels] = fields.array()?;
    for _ in 0..levels {
        let [runs] = fields.array()?;
        for _ in 0..runs {
            for _ in 0..fields.u32()? {
                let id = u64::from_le_bytes(fields.array()?);
                let [_kind] = fields.array()?;
                tables.push(TableFile {
                    path: folder.join("tables").join(id.to_string()),
                    checksum: Some(u128::from_le_bytes(fields.array()?)),
                    shift: u64::from_le_bytes(fields.array()?),
                });
            }
        }
    }
    Some(tables)
}

struct VersionFields<'a>(&'a [u8]);

impl<'a> VersionFields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }
}
