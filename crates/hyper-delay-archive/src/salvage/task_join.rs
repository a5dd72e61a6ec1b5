use std::{iter::Peekable, vec};

use super::{
    faults::{FileFault, FileFaults},
    merge::RowMerge,
    row::LiveRow,
    stopped_store::StoppedStore,
    task_state_row::TaskStateRow,
};
use hyper_delay_engine::ledger::retain_lowest;
use hyper_delay_store::Space;

/// Maximum number of state rows that a pass keeps. An undamaged task has two.
const WINDOW: usize = 1 << 21;

/// Collects the readable parts of each task, ordered by sequence number.
///
/// Contents are sorted by sequence number and read once. State rows are not sorted by it. To bound
/// the memory, each pass over their spaces keeps those with the lowest sequence numbers, and the
/// next pass continues after them.
#[derive(Debug)]
pub(super) struct TaskJoin<'a> {
    store: &'a StoppedStore,
    contents: RowMerge,
    /// The next content.
    content: Option<(u64, LiveRow)>,
    /// Sorted by sequence number.
    state_rows: Peekable<vec::IntoIter<TaskStateRow>>,
    /// The first sequence number whose state rows are not read yet. `None` if all are.
    rest: Option<u64>,
    window: usize,
}

/// The readable parts of a task: its state rows, its content, or both.
#[derive(Debug)]
pub(super) struct TaskParts {
    pub(super) seq: u64,
    pub(super) state_rows: Vec<TaskStateRow>,
    pub(super) content: Option<Vec<u8>>,
}

impl<'a> TaskJoin<'a> {
    pub(super) fn new(store: &'a StoppedStore, faults: &mut FileFaults) -> Self {
        Self::with_window(store, WINDOW, faults)
    }

    pub(super) fn with_window(
        store: &'a StoppedStore,
        window: usize,
        faults: &mut FileFaults,
    ) -> Self {
        let mut join = Self {
            store,
            contents: store.scan(Space::Tasks, faults),
            content: None,
            state_rows: Vec::new().into_iter().peekable(),
            rest: Some(0),
            window,
        };
        join.read_content(faults);
        join
    }

    /// Returns the next task.
    pub(super) fn next(&mut self, faults: &mut FileFaults) -> Option<TaskParts> {
        let content = self.content.as_ref().map(|(seq, _)| *seq);
        while let Some(rest) = self.rest
            && self.state_rows.peek().is_none()
            && content.is_none_or(|seq| seq >= rest)
        {
            self.read_state_rows(rest, faults);
        }
        let next_state = self.state_rows.peek().map(|state_row| state_row.seq);
        let seq = next_state.into_iter().chain(content).min()?;
        let mut state_rows = Vec::new();
        while let Some(state_row) = self.state_rows.next_if(|state_row| state_row.seq == seq) {
            state_rows.push(state_row);
        }
        let content = match content {
            Some(of) if of == seq => self.read_content(faults),
            _ => None,
        };
        Some(TaskParts {
            seq,
            state_rows,
            content,
        })
    }

    /// Reads the next content and returns the one before it.
    fn read_content(&mut self, faults: &mut FileFaults) -> Option<Vec<u8>> {
        let mut next = None;
        while let Some(row) = self.contents.next(faults) {
            if let Ok(key) = row.key.as_slice().try_into() {
                next = Some((u64::from_be_bytes(key), row));
                break;
            }
            let what = format!("the key {} is no sequence number", row.key.escape_ascii());
            faults
                .add(FileFault::new(self.store.folder(Space::Tasks), what).in_space(Space::Tasks));
        }
        let before = std::mem::replace(&mut self.content, next);
        before.map(|(_, row)| row.value)
    }

    /// Reads the state rows with the lowest sequence numbers from `from` on.
    fn read_state_rows(&mut self, from: u64, faults: &mut FileFaults) {
        let most = self.window.saturating_add(self.window / 4);
        let mut found: Vec<TaskStateRow> = Vec::new();
        self.rest = None;
        for space in TaskStateRow::SPACES {
            let mut rows = self.store.scan(space, faults);
            while let Some(row) = rows.next(faults) {
                let state_row = TaskStateRow::seq_of(space, &row).and_then(|seq| {
                    let is_wanted = seq >= from && self.rest.is_none_or(|rest| seq < rest);
                    is_wanted
                        .then(|| TaskStateRow::read(space, &row))
                        .transpose()
                });
                match state_row {
                    Ok(state_row) => found.extend(state_row),
                    Err(error) => {
                        let key = row.key.escape_ascii();
                        let what = format!("the value of key {key}: {}", error.reason());
                        faults.add(FileFault::new(self.store.folder(space), what).in_space(space));
                    }
                }
                if found.len() > most {
                    self.rest = Some(retain_lowest(&mut found, self.window, |state_row| {
                        state_row.seq
                    }));
                }
            }
        }
        found.sort_unstable_by_key(|state_row| {
            (state_row.seq, state_row.space as usize, state_row.seqno)
        });
        self.state_rows = found.into_iter().peekable();
    }
}
