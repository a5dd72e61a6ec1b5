//! Entries of the journal that wait on the disk until the snapshot before them is there.
//!
//! Only the process that has written the file reads it, and a checksum tells whether it reads what
//! it has written:
//!
//! ```text
//! entry = seq: u64, length: u32, checksum: u64 (XXH3 of the content), content
//! ```

use std::{
    fs::{self, File},
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use xxhash_rust::xxh3::xxh3_64;

/// Entries of the journal on the disk, in their order. The file is removed at the end.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    file: File,
    /// The bytes that were written, and read.
    written: u64,
    read: u64,
    /// The entries that were returned last.
    page: Vec<SpooledEntry>,
}

/// The maximum bytes of the entries on a page, unless the first one has more.
const PAGE: usize = 1 << 20;

type SpooledEntry = (u64, Arc<[u8]>);

impl Spool {
    /// Begins an empty file. An older one is emptied.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true);
        Ok(Self {
            file: file.open(path)?,
            path: path.to_owned(),
            written: 0,
            read: 0,
            page: Vec::new(),
        })
    }

    /// Appends entries.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. Nothing can be appended any more then.
    pub(crate) fn append(&mut self, entries: &[SpooledEntry]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (seq, entry) in entries {
            let length = u32::try_from(entry.len()).map_err(io::Error::other)?;
            bytes.extend_from_slice(&seq.to_le_bytes());
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(&xxh3_64(entry).to_le_bytes());
            bytes.extend_from_slice(entry);
        }
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(&bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Returns the next entries; none if all were returned. If the one after `applied` was returned
    /// with the last ones, they are returned again: there was no room for it.
    ///
    /// # Errors
    ///
    /// If the disk fails, or does not have what was written.
    pub(crate) fn next(&mut self, applied: u64) -> io::Result<Vec<SpooledEntry>> {
        if self.page.iter().all(|(seq, _)| *seq != applied + 1) {
            self.page = self.read()?;
        }
        Ok(self.page.clone())
    }

    fn read(&mut self) -> io::Result<Vec<SpooledEntry>> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        self.file.seek(SeekFrom::Start(self.read))?;
        let mut reader = io::BufReader::new(&self.file);
        while self.read < self.written && bytes < PAGE {
            let seq = u64::from_le_bytes(take(&mut reader)?);
            let length = u32::from_le_bytes(take(&mut reader)?);
            let checksum = u64::from_le_bytes(take(&mut reader)?);
            self.read += 8 + 4 + 8 + u64::from(length);
            if self.read > self.written {
                return Err(damaged());
            }
            let mut entry = vec![0; length as usize];
            reader.read_exact(&mut entry)?;
            if xxh3_64(&entry) != checksum {
                return Err(damaged());
            }
            bytes += entry.len();
            entries.push((seq, entry.into()));
        }
        Ok(entries)
    }
}

fn take<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn damaged() -> io::Error {
    let what = "the spooled entries are not those that were written";
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Drop for Spool {
    fn drop(&mut self) {
        // If this fails, the next start removes it.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64) -> SpooledEntry {
        (seq, vec![seq.to_le_bytes()[0]; 300_000].into())
    }

    #[test]
    fn entries_come_back_in_their_order_while_more_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        fs::write(&path, b"of an earlier process").unwrap();
        let mut spool = Spool::create(&path).unwrap();
        assert!(spool.next(2).unwrap().is_empty());
        spool.append(&[entry(3), entry(4)]).unwrap();
        let mut read = spool.next(2).unwrap();
        for seq in 5..20 {
            spool.append(&[entry(seq)]).unwrap();
        }
        loop {
            let next = spool.next(read.last().unwrap().0).unwrap();
            if next.is_empty() {
                break;
            }
            assert!(next.len() <= 4, "a page is short");
            read.extend(next);
        }
        assert_eq!(read, (3..20).map(entry).collect::<Vec<_>>());
        drop(spool);
        assert!(!path.exists());
    }

    #[test]
    fn entries_come_again_until_the_last_of_them_is_applied() {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(&directory.path().join("spool")).unwrap();
        spool
            .append(&(1..=8).map(entry).collect::<Vec<_>>())
            .unwrap();
        let page = spool.next(0).unwrap();
        for applied in 0..page.len() as u64 {
            assert!(spool.next(applied).unwrap() == page, "{applied}");
        }
        let next = spool.next(page.len() as u64).unwrap();
        assert_eq!(next[0].0, page.len() as u64 + 1);
    }

    #[test]
    fn what_the_disk_has_changed_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        for at in 8..28 {
            let mut spool = Spool::create(&path).unwrap();
            spool.append(&[(1, b"an entry".as_slice().into())]).unwrap();
            let mut bytes = fs::read(&path).unwrap();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            spool.next(0).unwrap_err();
        }
    }
}
