use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::write_buffer::WriteBuffer;
use hyper_delay_store::{
    Bytes, Space, Store, StoreError,
    record::{self, Digest, FinishedTask, Record, key},
};

/// Deduplication window: names of recently finished tasks.
///
/// There are two generations of names, each in a space of its own. New names go to the current
/// generation. Once it has been current for the length of the window, all names in the previous
/// generation have expired; it is cleared and becomes the current one. So expiry takes constant
/// time for any number of names.
#[derive(Debug)]
pub struct DedupeWindow {
    generation: WindowGeneration,
    /// Whether the even and the odd generation can contain names. Empty ones are not searched.
    is_used: [bool; 2],
    /// The time that a name is kept, in milliseconds. 0: no name is kept.
    millis: u64,
}

/// The current generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct WindowGeneration {
    is_odd: bool,
    /// The time it became the current one, in Unix milliseconds.
    since: u64,
}

impl Record<'_> for WindowGeneration {}

impl WindowGeneration {
    const fn space(self) -> Space {
        if self.is_odd {
            Space::DoneOdd
        } else {
            Space::DoneEven
        }
    }

    const fn previous_space(self) -> Space {
        if self.is_odd {
            Space::DoneEven
        } else {
            Space::DoneOdd
        }
    }
}

impl DedupeWindow {
    /// Reads the window of a store. Names are kept for `millis` milliseconds.
    pub(super) fn open(store: &impl Store, millis: u64) -> Result<Self, StoreError> {
        let generation = match store.get(Space::Meta, key::DEDUPE_WINDOW)? {
            Some(value) => record::decode(&value)?,
            None => WindowGeneration {
                is_odd: false,
                since: 0,
            },
        };
        let is_used = [
            has_keys(store, Space::DoneEven)?,
            has_keys(store, Space::DoneOdd)?,
        ];
        Ok(Self {
            generation,
            is_used,
            millis,
        })
    }

    /// Returns an encoded current generation whose age is not known. Names of both generations are
    /// kept for the length of the window from the next [`rotate`](Self::rotate) on.
    pub(super) fn encoded_with_unknown_age(store: &impl Store) -> Result<Bytes, StoreError> {
        let value = store.get(Space::Meta, key::DEDUPE_WINDOW)?;
        let generation = value.and_then(|value| record::decode::<WindowGeneration>(&value).ok());
        let is_odd = generation.is_some_and(|generation| generation.is_odd);
        Ok(Self::of_unknown_age(is_odd))
    }

    /// Returns an encoded current generation whose age is not known. See
    /// `encoded_with_unknown_age`.
    #[must_use]
    pub fn of_unknown_age(is_odd: bool) -> Bytes {
        record::encode(&WindowGeneration {
            is_odd,
            // A time in the future, as after the wall clock was set back.
            since: u64::MAX,
        })
    }

    /// Returns the finished task of a name, unless it has expired at `now`.
    pub(super) fn find(
        &self,
        writes: &WriteBuffer<impl Store>,
        key: &[u8],
        now: u64,
    ) -> Result<Option<FinishedTask>, StoreError> {
        for space in [self.generation.space(), self.generation.previous_space()] {
            if !self.is_used[usize::from(space == Space::DoneOdd)] {
                continue;
            }
            let value = writes.get(space, key)?;
            let done = value
                .map(|value| record::decode::<FinishedTask>(&value))
                .transpose()?;
            if let Some(done) = done.filter(|done| now < done.until) {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    /// Adds the name of a task that is finished at `now`.
    pub(super) fn insert(
        &mut self,
        writes: &mut WriteBuffer<impl Store>,
        key: &[u8],
        attempt: u32,
        digest: Digest,
        now: u64,
    ) {
        if self.millis == 0 {
            return;
        }
        let done = FinishedTask {
            until: now.saturating_add(self.millis),
            attempt,
            digest,
        };
        writes.put(self.generation.space(), key, record::encode(&done));
        self.is_used[usize::from(self.generation.is_odd)] = true;
    }

    /// Removes a name before it expires.
    pub(super) fn remove(&self, writes: &mut WriteBuffer<impl Store>, key: &[u8]) {
        writes.remove(self.generation.space(), key);
        writes.remove(self.generation.previous_space(), key);
    }

    /// Clears the previous generation and makes it the current one, if all its names have expired.
    ///
    /// An expired name can stay on disk for the length of the window once more. After the wall
    /// clock was set back, names are kept longer by the size of that step.
    pub(super) fn rotate(
        &mut self,
        writes: &mut WriteBuffer<impl Store>,
        now: u64,
    ) -> Result<(), StoreError> {
        if !self.is_over(now) {
            return Ok(());
        }
        if self.is_in_future(now) {
            // The wall clock was set back: the generation is as old as if it began now.
            self.generation.since = now;
        } else {
            writes.clear(self.generation.previous_space())?;
            self.is_used[usize::from(!self.generation.is_odd)] = false;
            self.generation = WindowGeneration {
                is_odd: !self.generation.is_odd,
                since: now,
            };
        }
        writes.put(
            Space::Meta,
            key::DEDUPE_WINDOW,
            record::encode(&self.generation),
        );
        Ok(())
    }
}

/// Whether the current generation has its age.
impl DedupeWindow {
    fn is_over(&self, now: u64) -> bool {
        let is_young = now.saturating_sub(self.generation.since) < self.millis;
        self.millis != 0 && (!is_young || self.is_in_future(now))
    }

    /// Returns whether the wall clock was set back since the generation began.
    fn is_in_future(&self, now: u64) -> bool {
        self.generation.since > now.saturating_add(self.millis)
    }

    /// Returns the space that [`rotate`](Self::rotate) would clear, if it can contain names.
    pub(super) fn expired(&self, now: u64) -> Option<Space> {
        let space = self.generation.previous_space();
        let is_used = self.is_used[usize::from(space == Space::DoneOdd)];
        (is_used && self.is_over(now) && !self.is_in_future(now)).then_some(space)
    }
}

fn has_keys(store: &impl Store, space: Space) -> Result<bool, StoreError> {
    let mut has_keys = false;
    store.scan(space, &[], &mut |_, _| {
        has_keys = true;
        ControlFlow::Break(())
    })?;
    Ok(has_keys)
}
