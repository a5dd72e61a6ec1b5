//! Decides which batches after damage belong to a journal.
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

use super::spaces::Spaces;
use hyper_delay_fjall::{
    Marker, NO_KEY,
    commits::Commits,
    journal::{Damage, Journal, JournalBatch, JournalItem, Reason},
};
use hyper_delay_store::Space;

/// A part of a journal.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Damage(Damage),
    /// Batches without damage between them.
    Run(Run<'a>),
}

/// Batches without damage between them.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) batches: Vec<JournalBatch<'a>>,
    /// The reason why they can be bytes of a payload.
    doubt: Option<&'static str>,
}

const MORE_DAMAGE: &str = "more damage follows them";
const CUT: &str = "the batch before them does not end in the file";
const NO_RECORD: &str = "a torn end follows them, and no commit record names their commits";
const NO_COMMITS: &str = "they are not as the store writes batches";
const NOT_NAMED: &str = "neither later batches nor the commit record name their commits";

/// Returns the parts of all journals of a store, oldest first.
pub(super) fn parts<'a>(
    journals: &'a [Journal],
    spaces: &Spaces,
    record: Option<&Commits>,
) -> Vec<Vec<Part<'a>>> {
    let mut journals: Vec<Vec<Part<'a>>> = journals.iter().map(split).collect();
    let mut chain = Chain::new(spaces, record);
    for index in (0..journals.len()).rev() {
        let is_newest = index + 1 == journals.len();
        // The last commit that is surely before the damage.
        let last = journals[..=index].iter().rev().find_map(|parts| {
            let Some(Part::Run(run)) = parts.first() else {
                return None;
            };
            run.last_commit()
        });
        let parts = &mut journals[index];
        for place in (0..parts.len()).rev() {
            let (before, rest) = parts.split_at_mut(place);
            let Some((Part::Run(run), after)) = rest.split_first_mut() else {
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
                [Part::Damage(end)] if end.is_tail && is_newest => match record {
                    Some(_) => Ok(2),
                    None => Err(NO_RECORD),
                },
                _ => Err(MORE_DAMAGE),
            };
            let is_cut = |part: &Part<'_>| matches!(part, Part::Damage(damage) if damage.reason == Reason::Cut);
            run.doubt = match least {
                Err(doubt) => Some(doubt),
                Ok(_) if before.iter().any(is_cut) => Some(CUT),
                Ok(least) => chain.extend(&run.batches, last.unwrap_or(0) + least).err(),
            };
        }
    }
    journals
}

fn split(journal: &Journal) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for piece in journal.batches() {
        match (piece, parts.last_mut()) {
            (Err(damage), _) => parts.push(Part::Damage(damage)),
            (Ok(batch), Some(Part::Run(run))) => run.batches.push(batch),
            (Ok(batch), _) => parts.push(Part::Run(Run {
                batches: vec![batch],
                doubt: None,
            })),
        }
    }
    parts
}

impl Run<'_> {
    /// Describes why the batches are left out. `None` if they belong to the journal.
    pub(super) fn doubt(&self) -> Option<String> {
        let (doubt, count) = (self.doubt?, self.batches.len());
        let (first, last) = (self.batches.first()?, self.batches.last()?);
        let (start, end) = (first.range.start, last.range.end);
        Some(format!(
            "bytes {start} to {end}: {count} batches after damage are left out, because they can be \
             bytes of a payload: {doubt}"
        ))
    }

    fn last_commit(&self) -> Option<u64> {
        let items = self.batches.iter().flat_map(|batch| &batch.items);
        items.filter_map(marker).map(|marker| marker.commit).max()
    }
}

/// What the batches of all journals after a place say about the commits before it.
#[derive(Debug)]
struct Chain<'a> {
    spaces: &'a Spaces,
    record: Option<&'a Commits>,
    before: [Before; Space::ALL.len()],
}

/// The last commit of a space before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The last one of the space, which the commit record names if it was synced.
    Last,
    /// The one that the next commit names.
    Named(u64),
    /// Any: the space is cleared after it.
    Any,
}

impl<'a> Chain<'a> {
    const fn new(spaces: &'a Spaces, record: Option<&'a Commits>) -> Self {
        Self {
            spaces,
            record,
            before: [Before::Last; Space::ALL.len()],
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
            if let Some(space) = self.spaces.space(*id) {
                self.before[space as usize] = Before::Any;
            }
        }
        for item in &batch.items {
            if let Some(space) = self.spaces.space(item.keyspace)
                && let Some(marker) = marker(item)
            {
                self.before[space as usize] = Before::Named(marker.before);
            }
        }
    }

    /// Moves to the place before batches after damage if they have the commits that are missing
    /// there, from `least` on. The error is the doubt.
    fn extend(&mut self, batches: &[JournalBatch<'_>], least: u64) -> Result<(), &'static str> {
        // Without a record all commits count as newer than it.
        let record = self.record.copied().unwrap_or_default();
        let mut inside = Self { ..*self };
        let mut next = u64::MAX;
        let mut is_confirmed = false;
        for batch in batches.iter().rev() {
            let Some(Commit { number, spaces }) = inside.commit(batch)? else {
                inside.follow(batch);
                continue;
            };
            if number < least || number >= next {
                return Err(NOT_NAMED);
            }
            next = number;
            for (space, before) in spaces {
                let index = space as usize;
                let extent = record.space(space);
                let is_named = match inside.before[index] {
                    Before::Named(named) => number == named,
                    Before::Last => number == extent.last,
                    Before::Any => false,
                };
                let is_free = inside.before[index] == Before::Any || number <= extent.floor;
                // Commits that were not synced are newer than the record.
                let is_new = inside.before[index] == Before::Last
                    && number > record.commit
                    && (before > record.commit || before == extent.last || before <= extent.floor);
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

    /// Returns the commit that wrote a batch, unless it changed no rows. The error is the doubt.
    fn commit(&self, batch: &JournalBatch<'_>) -> Result<Option<Commit>, &'static str> {
        let mut commit: Option<Commit> = None;
        for item in &batch.items {
            let space = self.spaces.space(item.keyspace).ok_or(NO_COMMITS)?;
            let Some(marker) = marker(item) else {
                continue;
            };
            let commit = commit.get_or_insert(Commit {
                number: marker.commit,
                spaces: Vec::new(),
            });
            if marker.commit != commit.number || marker.before >= marker.commit {
                return Err(NO_COMMITS);
            }
            commit.spaces.push((space, marker.before));
        }
        let is_marked = |item: &JournalItem<'_>| {
            let space = self.spaces.space(item.keyspace);
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

struct Commit {
    number: u64,
    /// The spaces that it changed, and the commit before it in each.
    spaces: Vec<(Space, u64)>,
}

/// Returns the marker that an item writes.
pub(super) fn marker(item: &JournalItem<'_>) -> Option<Marker> {
    let value = item.value.filter(|_| item.key == Marker::KEY)?;
    Marker::decode(value).ok()
}
