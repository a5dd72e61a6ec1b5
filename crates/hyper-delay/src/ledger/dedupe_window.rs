use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::{
    record::{self, Digest, Done, key},
    store::{Batch, Space, Store, StoreError},
};

/// Which tasks were done lately.
///
/// Two generations take turns: names go into the one, and once it has been written to for as long as names are
/// to be remembered, all names in the other are old, and it is cleared at once and written to next. So forgetting
/// costs nothing, whatever their number.
#[derive(Debug)]
pub(super) struct DedupeWindow {
    turn: Turn,
    /// Whether there can be names in the even and in the odd generation: an empty one need not be asked.
    used: [bool; 2],
    /// Milliseconds for which a name is remembered.
    keep: u64,
}

/// Which generation is written to, since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    odd: bool,
    since: u64,
}

impl Turn {
    const fn young(self) -> Space {
        if self.odd {
            Space::DoneOdd
        } else {
            Space::DoneEven
        }
    }

    const fn old(self) -> Space {
        if self.odd {
            Space::DoneEven
        } else {
            Space::DoneOdd
        }
    }
}

impl DedupeWindow {
    pub(super) fn open(store: &impl Store, keep: u64) -> Result<Self, StoreError> {
        let turn = match store.get(Space::Meta, key::MEMORY)? {
            Some(value) => record::decode(&value)?,
            None => Turn {
                odd: false,
                since: 0,
            },
        };
        let used = [
            any_in(store, Space::DoneEven)?,
            any_in(store, Space::DoneOdd)?,
        ];
        Ok(Self { turn, used, keep })
    }

    /// What is remembered of a name.
    pub(super) fn find(
        &self,
        store: &impl Store,
        batch: &Batch,
        key: &[u8],
        now: u64,
    ) -> Result<Option<Done>, StoreError> {
        for space in [self.turn.young(), self.turn.old()] {
            if !self.used[usize::from(space == Space::DoneOdd)] {
                continue;
            }
            let done: Option<Done> = match batch.get(space, key) {
                Some(value) => value.map(|value| record::decode(value)).transpose()?,
                None => match store.get(space, key)? {
                    Some(value) => Some(record::decode(&value)?),
                    None => None,
                },
            };
            if let Some(done) = done.filter(|done| now < done.until) {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    pub(super) fn remember(
        &mut self,
        batch: &mut Batch,
        key: &[u8],
        attempt: u32,
        digest: Digest,
        now: u64,
    ) {
        if self.keep == 0 {
            return;
        }
        let done = Done {
            until: now.saturating_add(self.keep),
            attempt,
            digest,
        };
        batch.put(self.turn.young(), key, record::encode(&done));
        self.used[usize::from(self.turn.odd)] = true;
    }

    pub(super) fn forget(&self, batch: &mut Batch, key: &[u8]) {
        batch.remove(self.turn.young(), key);
        batch.remove(self.turn.old(), key);
    }

    /// Clears the old generation, if it is time, and turns.
    ///
    /// A name may outlive its time by as much again, and does not count then. If the wall clock was set back, names
    /// live longer by that.
    pub(super) fn turn(
        &mut self,
        store: &impl Store,
        batch: &mut Batch,
        now: u64,
    ) -> Result<(), StoreError> {
        let is_ahead = self.turn.since > now.saturating_add(self.keep);
        let is_young = now.saturating_sub(self.turn.since) < self.keep;
        if self.keep == 0 || is_young && !is_ahead {
            return Ok(());
        }
        store.clear(self.turn.old())?;
        self.used[usize::from(!self.turn.odd)] = false;
        self.turn = Turn {
            odd: !self.turn.odd,
            since: now,
        };
        batch.put(Space::Meta, key::MEMORY, record::encode(&self.turn));
        Ok(())
    }
}

fn any_in(store: &impl Store, space: Space) -> Result<bool, StoreError> {
    let mut any = false;
    store.scan(space, &[], &mut |_, _| {
        any = true;
        ControlFlow::Break(())
    })?;
    Ok(any)
}
