//! Decides which batches after damage can be trusted to belong to a journal.
//!
//! A payload can contain the bytes of valid batches: a client can construct them, or send a
//! journal. If the batch around them is damaged, only this distinguishes them from batches of the
//! store:
//!
//! - The bytes after the payload, the end of the damaged batch, are no batch. So a run of batches
//!   counts only if it reaches the end of its journal, or the torn end of the newest one.
//! - If the journal was cut in the payload, the damaged batch announces more bytes than are left.
//! - Each commit of a space is named by the next one, the last by the commit record. Before a torn
//!   end, a commit must also leave a number for the damaged batch.

use super::space_folders::SpaceFolders;
use hyper_delay_fjall::{
    CommitMarker, NO_KEY,
    commit_record::CommitRecord,
    journal_file::{BatchDamage, JournalBatch, JournalDamage, JournalFile, JournalItem},
};
use hyper_delay_store::Space;

/// A part of a journal.
#[derive(Debug)]
pub(super) enum JournalPart<'a> {
    Damage(JournalDamage),
    /// Batches without damage between them.
    Run(BatchRun<'a>),
}

/// Batches without damage between them.
#[derive(Debug)]
pub(super) struct BatchRun<'a> {
    pub(super) batches: Vec<JournalBatch<'a>>,
    /// The reason for leaving them out: they can be bytes of a payload.
    rejection: Option<&'static str>,
}

const MORE_DAMAGE: &str = "more damage follows them";
const CUT: &str = "the batch before them does not end in the file";
const NO_RECORD: &str = "a torn end follows them, and no commit record names their commits";
const NO_COMMITS: &str = "they are not as the store writes batches";
const NOT_NAMED: &str = "neither later batches nor the commit record name their commits";

/// Splits all journals of a store, oldest first, into damage and runs of batches. Runs that can be
/// bytes of a payload have a [`rejection`](BatchRun::rejection).
pub(super) fn classify<'a>(
    journals: &'a [JournalFile],
    folders: &SpaceFolders,
    record: Option<&CommitRecord>,
) -> Vec<Vec<JournalPart<'a>>> {
    let mut journals: Vec<Vec<JournalPart<'a>>> = journals.iter().map(split).collect();
    let mut chain = CommitChain::new(folders, record);
    for index in (0..journals.len()).rev() {
        let is_newest = index + 1 == journals.len();
        // The last commit that is surely before the damage.
        let last = journals[..=index].iter().rev().find_map(|parts| {
            let Some(JournalPart::Run(run)) = parts.first() else {
                return None;
            };
            run.last_commit()
        });
        let parts = &mut journals[index];
        for place in (0..parts.len()).rev() {
            let (before, rest) = parts.split_at_mut(place);
            let Some((JournalPart::Run(run), after)) = rest.split_first_mut() else {
                continue;
            };
            if before.is_empty() {
                // The start of a file is not in a payload.
                chain.follow_all(&run.batches);
                continue;
            }
            let least = match after {
                [] => Ok(1),
                // The damaged batch itself has a number, too.
                [JournalPart::Damage(end)] if end.is_tail && is_newest => match record {
                    Some(_) => Ok(2),
                    None => Err(NO_RECORD),
                },
                _ => Err(MORE_DAMAGE),
            };
            let is_cut = |part: &JournalPart<'_>| matches!(part, JournalPart::Damage(damage) if damage.reason == BatchDamage::Cut);
            run.rejection = match least {
                Err(rejection) => Some(rejection),
                Ok(_) if before.iter().any(is_cut) => Some(CUT),
                Ok(least) => chain.extend(&run.batches, last.unwrap_or(0) + least).err(),
            };
        }
    }
    journals
}

fn split(journal: &JournalFile) -> Vec<JournalPart<'_>> {
    let mut parts = Vec::new();
    for piece in journal.batches() {
        match (piece, parts.last_mut()) {
            (Err(damage), _) => parts.push(JournalPart::Damage(damage)),
            (Ok(batch), Some(JournalPart::Run(run))) => run.batches.push(batch),
            (Ok(batch), _) => parts.push(JournalPart::Run(BatchRun {
                batches: vec![batch],
                rejection: None,
            })),
        }
    }
    parts
}

impl BatchRun<'_> {
    /// Returns why the batches are left out. `None` if they belong to the journal.
    pub(super) fn rejection(&self) -> Option<String> {
        let (rejection, count) = (self.rejection?, self.batches.len());
        let (first, last) = (self.batches.first()?, self.batches.last()?);
        let (start, end) = (first.range.start, last.range.end);
        Some(format!(
            "bytes {start} to {end}: {count} batches after damage are left out, because they can be \
             bytes of a payload: {rejection}"
        ))
    }

    fn last_commit(&self) -> Option<u64> {
        let items = self.batches.iter().flat_map(|batch| &batch.items);
        items.filter_map(marker).map(|marker| marker.commit).max()
    }
}

/// The commits before a place in the journals, as the batches after it name them.
#[derive(Debug)]
struct CommitChain<'a> {
    folders: &'a SpaceFolders,
    record: Option<&'a CommitRecord>,
    before: [PreviousCommit; Space::ALL.len()],
}

/// The last commit of a space before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreviousCommit {
    /// The last one of the space, which the commit record names if it was synced.
    Last,
    /// The one that the next commit names.
    Named(u64),
    /// Any: the space is cleared after it.
    Any,
}

impl<'a> CommitChain<'a> {
    const fn new(folders: &'a SpaceFolders, record: Option<&'a CommitRecord>) -> Self {
        Self {
            folders,
            record,
            before: [PreviousCommit::Last; Space::ALL.len()],
        }
    }

    /// Moves to the place before batches that belong to the journal.
    fn follow_all(&mut self, batches: &[JournalBatch<'_>]) {
        for batch in batches.iter().rev() {
            self.follow(batch);
        }
    }

    fn follow(&mut self, batch: &JournalBatch<'_>) {
        for id in &batch.clears {
            if let Some(space) = self.folders.space(*id) {
                self.before[space as usize] = PreviousCommit::Any;
            }
        }
        for item in &batch.items {
            if let Some(space) = self.folders.space(item.keyspace)
                && let Some(marker) = marker(item)
            {
                self.before[space as usize] = PreviousCommit::Named(marker.before);
            }
        }
    }

    /// Moves to the place before batches after damage if they have the commits that are missing
    /// there, from `least` on. The error is the rejection.
    fn extend(&mut self, batches: &[JournalBatch<'_>], least: u64) -> Result<(), &'static str> {
        // Without a record all commits count as newer than it.
        let record = self.record.copied().unwrap_or_default();
        let mut inside = Self { ..*self };
        let mut next = u64::MAX;
        let mut is_confirmed = false;
        for batch in batches.iter().rev() {
            let Some(BatchCommit { number, spaces }) = inside.commit(batch)? else {
                inside.follow(batch);
                continue;
            };
            if number < least || number >= next {
                return Err(NOT_NAMED);
            }
            next = number;
            for (space, before) in spaces {
                let index = space as usize;
                let recorded = record.space(space);
                let is_named = match inside.before[index] {
                    PreviousCommit::Named(named) => number == named,
                    PreviousCommit::Last => number == recorded.last,
                    PreviousCommit::Any => false,
                };
                let is_free =
                    inside.before[index] == PreviousCommit::Any || number <= recorded.floor;
                // Commits that were not synced are newer than the record.
                let is_new = inside.before[index] == PreviousCommit::Last
                    && number > record.commit
                    && (before > record.commit
                        || before == recorded.last
                        || before <= recorded.floor);
                if !is_named && !is_free && !is_new {
                    return Err(NOT_NAMED);
                }
                is_confirmed |= is_named && inside.before[index] == self.before[index];
            }
            inside.follow(batch);
        }
        if !is_confirmed && self.record.is_some() {
            return Err(NOT_NAMED);
        }
        self.before = inside.before;
        Ok(())
    }

    /// Returns the commit that wrote a batch, unless it changed no rows. The error is the rejection.
    fn commit(&self, batch: &JournalBatch<'_>) -> Result<Option<BatchCommit>, &'static str> {
        let mut commit: Option<BatchCommit> = None;
        for item in &batch.items {
            let space = self.folders.space(item.keyspace).ok_or(NO_COMMITS)?;
            let Some(marker) = marker(item) else {
                continue;
            };
            let commit = commit.get_or_insert(BatchCommit {
                number: marker.commit,
                spaces: Vec::new(),
            });
            if marker.commit != commit.number || marker.before >= marker.commit {
                return Err(NO_COMMITS);
            }
            commit.spaces.push((space, marker.before));
        }
        let is_marked = |item: &JournalItem<'_>| {
            let space = self.folders.space(item.keyspace);
            let mut marked = commit.iter().flat_map(|commit| &commit.spaces);
            marked.any(|(marked, _)| Some(*marked) == space)
                || item.key == NO_KEY && item.value.is_none()
        };
        if !batch.items.iter().all(is_marked) {
            return Err(NO_COMMITS);
        }
        Ok(commit)
    }
}

struct BatchCommit {
    number: u64,
    /// The spaces that it changed, and the commit before it in each.
    spaces: Vec<(Space, u64)>,
}

/// Returns the marker that an item writes.
pub(super) fn marker(item: &JournalItem<'_>) -> Option<CommitMarker> {
    let value = item.value.filter(|_| item.key == CommitMarker::KEY)?;
    CommitMarker::decode(value).ok()
}
