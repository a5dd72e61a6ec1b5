use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
};

use super::*;

fn commits(commit: u64) -> CommitRecord {
    let mut commits = CommitRecord {
        commit,
        schedules: 5 * commit,
        removals: 3 * commit,
        ..CommitRecord::default()
    };
    for (number, space) in (0..).zip(Space::ALL) {
        let extent = commits.space_mut(space);
        (extent.last, extent.floor) = (commit - number, number);
    }
    commits
}

#[test]
fn last_write_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(
        CommitFile::read(directory.path()).unwrap(),
        CommitFileState::Missing
    );
    let mut file = CommitFile::create(directory.path(), &commits(10)).unwrap();
    for commit in 11..20 {
        file.write(&commits(commit)).unwrap();
        let found = CommitFile::read(directory.path()).unwrap();
        assert_eq!(found, CommitFileState::Read(commits(commit)));
    }
    drop(file);
    let again = CommitFile::create(directory.path(), &commits(30)).unwrap();
    let found = CommitFile::read(directory.path()).unwrap();
    assert_eq!(found, CommitFileState::Read(commits(30)));
    drop(again);
}

#[test]
fn any_flipped_bit_of_one_slot_leaves_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = CommitFile::create(directory.path(), &commits(10)).unwrap();
    file.write(&commits(11)).unwrap();
    drop(file);
    let path = CommitFile::path(directory.path());
    let whole = fs::read(&path).unwrap();
    for slot in [0, 4096] {
        for at in slot..slot + slot::LENGTH {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, bytes).unwrap();
            let CommitFileState::Read(found) = CommitFile::read(directory.path()).unwrap() else {
                panic!("byte {at}");
            };
            assert!([10, 11].map(commits).contains(&found), "byte {at}");
        }
    }
}

#[test]
fn file_without_a_readable_slot_is_unreadable() {
    let directory = tempfile::tempdir().unwrap();
    drop(CommitFile::create(directory.path(), &commits(10)).unwrap());
    let path = CommitFile::path(directory.path());
    let mut file = File::options().read(true).write(true).open(&path).unwrap();
    for slot in [0, 4096] {
        let mut byte = [0];
        file.seek(SeekFrom::Start(slot + 20)).unwrap();
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(slot + 20)).unwrap();
        file.write_all(&[byte[0] ^ 1]).unwrap();
    }
    let found = CommitFile::read(directory.path()).unwrap();
    assert_eq!(found, CommitFileState::Unreadable);
    for length in [0, 100] {
        file.set_len(length).unwrap();
        let found = CommitFile::read(directory.path()).unwrap();
        assert_eq!(found, CommitFileState::Unreadable);
    }
}

#[test]
fn dropping_the_file_ends_its_thread() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = CommitFile::create(directory.path(), &commits(10)).unwrap();
    file.write(&commits(11)).unwrap();
    // Joins the thread; a thread that does not end keeps the test from ending.
    drop(file);
}
