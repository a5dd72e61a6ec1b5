use std::{iter::Peekable, vec};

use super::{
    claim::Claim,
    faults::{Fault, Faults},
    merge::Merge,
    row::Live,
    stopped::Stopped,
};
use hyper_delay_engine::ledger::keep_lowest;
use hyper_delay_store::Space;

/// Maximum number of claims that a pass keeps. An undamaged task has two.
const WINDOW: usize = 1 << 21;

/// Collects the readable parts of each task, ordered by sequence number.
///
/// Contents are sorted by sequence number and read once. Claims are not sorted by it. To bound the
/// memory, each pass over their spaces keeps those with the lowest sequence numbers, and the next
/// pass continues after them.
#[derive(Debug)]
pub(super) struct Join<'a> {
    store: &'a Stopped,
    contents: Merge,
    /// The next content.
    content: Option<(u64, Live)>,
    /// Sorted by sequence number.
    claims: Peekable<vec::IntoIter<Claim>>,
    /// The first sequence number whose claims are not read yet. `None` if all are.
    rest: Option<u64>,
    window: usize,
}

/// The readable parts of a task: its claims, its content, or both.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) seq: u64,
    pub(super) claims: Vec<Claim>,
    pub(super) content: Option<Vec<u8>>,
}

impl<'a> Join<'a> {
    pub(super) fn new(store: &'a Stopped, faults: &mut Faults) -> Self {
        Self::with_window(store, WINDOW, faults)
    }

    pub(super) fn with_window(store: &'a Stopped, window: usize, faults: &mut Faults) -> Self {
        let mut join = Self {
            store,
            contents: store.scan(Space::Tasks, faults),
            content: None,
            claims: Vec::new().into_iter().peekable(),
            rest: Some(0),
            window,
        };
        join.read_content(faults);
        join
    }

    /// Returns the next task.
    pub(super) fn next(&mut self, faults: &mut Faults) -> Option<Joined> {
        let content = self.content.as_ref().map(|(seq, _)| *seq);
        while let Some(rest) = self.rest
            && self.claims.peek().is_none()
            && content.is_none_or(|seq| seq >= rest)
        {
            self.read_claims(rest, faults);
        }
        let claimed = self.claims.peek().map(|claim| claim.seq);
        let seq = claimed.into_iter().chain(content).min()?;
        let mut claims = Vec::new();
        while let Some(claim) = self.claims.next_if(|claim| claim.seq == seq) {
            claims.push(claim);
        }
        let content = match content {
            Some(of) if of == seq => self.read_content(faults),
            _ => None,
        };
        Some(Joined {
            seq,
            claims,
            content,
        })
    }

    /// Reads the next content and returns the one before it.
    fn read_content(&mut self, faults: &mut Faults) -> Option<Vec<u8>> {
        let mut next = None;
        while let Some(row) = self.contents.next(faults) {
            if let Ok(key) = row.key.as_slice().try_into() {
                next = Some((u64::from_be_bytes(key), row));
                break;
            }
            let what = format!("the key {} is no sequence number", row.key.escape_ascii());
            faults.add(Fault::new(self.store.folder(Space::Tasks), what).of(Space::Tasks));
        }
        let before = std::mem::replace(&mut self.content, next);
        before.map(|(_, row)| row.value)
    }

    /// Reads the claims with the lowest sequence numbers from `from` on.
    fn read_claims(&mut self, from: u64, faults: &mut Faults) {
        let most = self.window.saturating_add(self.window / 4);
        let mut found: Vec<Claim> = Vec::new();
        self.rest = None;
        for space in Claim::SPACES {
            let mut rows = self.store.scan(space, faults);
            while let Some(row) = rows.next(faults) {
                let claim = Claim::seq_of(space, &row).and_then(|seq| {
                    let is_wanted = seq >= from && self.rest.is_none_or(|rest| seq < rest);
                    is_wanted.then(|| Claim::read(space, &row)).transpose()
                });
                match claim {
                    Ok(claim) => found.extend(claim),
                    Err(error) => {
                        let key = row.key.escape_ascii();
                        let what = format!("the value of key {key}: {}", error.reason());
                        faults.add(Fault::new(self.store.folder(space), what).of(space));
                    }
                }
                if found.len() > most {
                    self.rest = Some(keep_lowest(&mut found, self.window, |claim| claim.seq));
                }
            }
        }
        found.sort_unstable_by_key(|claim| (claim.seq, claim.space as usize, claim.seqno));
        self.claims = found.into_iter().peekable();
    }
}
