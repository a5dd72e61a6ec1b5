use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use hyper_delay_protocol::{Code, Filter, ListRequest, Refusal, TaskState};
use hyper_delay_store::Space;

/// The position in a list: a state, and the key in its space before the next task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListCursor {
    section: ListSection,
    /// Empty at the start of the space.
    key: Box<[u8]>,
}

/// A part of a list. The parts follow one another in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListSection {
    Parked,
    Waiting,
    Dead,
    /// Only if it is asked for: these tasks are waiting or parked, too.
    Retrying,
}

impl ListSection {
    const ALL: [Self; 4] = [Self::Parked, Self::Waiting, Self::Dead, Self::Retrying];

    const fn letter(self) -> u8 {
        match self {
            Self::Parked => b'p',
            Self::Waiting => b'w',
            Self::Dead => b'd',
            Self::Retrying => b'r',
        }
    }

    const fn state(self) -> TaskState {
        match self {
            Self::Parked => TaskState::Parked,
            Self::Waiting => TaskState::Waiting,
            Self::Dead => TaskState::Dead,
            Self::Retrying => TaskState::Retrying,
        }
    }
}

impl ListCursor {
    /// Returns where a list begins: at its cursor, or at the first task.
    pub(super) fn begin(request: &ListRequest) -> Result<Self, Refusal> {
        let is_requested = |section: &ListSection| match request.state {
            Some(state) => state == section.state(),
            None => *section != ListSection::Retrying,
        };
        let Some(after) = &request.after else {
            let first = ListSection::ALL.into_iter().find(is_requested);
            return Ok(Self::start_of(first.unwrap_or(ListSection::Waiting)));
        };
        let cursor = Self::parse(after).filter(|cursor| is_requested(&cursor.section));
        cursor.ok_or_else(|| Refusal {
            route: request.route.clone(),
            ..Refusal::new(
                Code::BadField,
                format!(
                    "after is {after:?}, which is no cursor of this list: give the `next` of the \
                     reply before, or begin without it"
                ),
            )
        })
    }

    /// Returns where a list of tasks in a state begins.
    pub(super) fn of_state(
        state: TaskState,
        route: Option<&Arc<str>>,
        after: Option<&Arc<str>>,
    ) -> Result<Self, Refusal> {
        Self::begin(&ListRequest {
            route: route.cloned(),
            state: Some(state),
            filter: Filter::default(),
            after: after.cloned(),
            limit: 1,
            payload: false,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (letter, key) = bytes.split_first()?;
        let section = ListSection::ALL
            .into_iter()
            .find(|it| it.letter() == *letter)?;
        let is_key = key.is_empty()
            || match section {
                ListSection::Waiting => key.len() == 16,
                ListSection::Parked | ListSection::Dead | ListSection::Retrying => {
                    key.len() == 17 + usize::from(key[0])
                }
            };
        is_key.then(|| Self {
            section,
            key: key.into(),
        })
    }

    /// The cursor on the wire.
    pub(super) fn to_text(&self) -> Arc<str> {
        let bytes = [&[self.section.letter()], &*self.key].concat();
        URL_SAFE_NO_PAD.encode(bytes).into()
    }

    /// The state of the tasks from here on.
    pub(super) const fn state(&self) -> TaskState {
        self.section.state()
    }

    /// The space of the tasks from here on; of retrying ones that of their index.
    pub(super) const fn space(&self) -> Space {
        match self.section {
            ListSection::Parked => Space::Parked,
            ListSection::Waiting => Space::Waiting,
            ListSection::Dead => Space::Dead,
            ListSection::Retrying => Space::Meta,
        }
    }

    /// The key after which the next task is.
    pub(super) fn key(&self) -> Option<&[u8]> {
        Some(&*self.key).filter(|key| !key.is_empty())
    }

    /// Returns the cursor after a key of the same space.
    pub(super) fn after(&self, key: &[u8]) -> Self {
        Self {
            section: self.section,
            key: key.into(),
        }
    }

    /// Returns the start of the next state that is asked for.
    pub(super) fn next_section(&self, request: &ListRequest) -> Option<Self> {
        if request.state.is_some() {
            return None;
        }
        match self.section {
            ListSection::Parked => Some(Self::start_of(ListSection::Waiting)),
            ListSection::Waiting => Some(Self::start_of(ListSection::Dead)),
            ListSection::Dead | ListSection::Retrying => None,
        }
    }

    fn start_of(section: ListSection) -> Self {
        Self {
            section,
            key: Box::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_delay_store::record::key;

    fn list(state: Option<TaskState>, after: Option<&str>) -> ListRequest {
        ListRequest {
            route: None,
            state,
            filter: Default::default(),
            after: after.map(Arc::from),
            limit: 100,
            payload: false,
        }
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let request = list(None, None);
        let mut cursor = ListCursor::begin(&request).unwrap();
        let mut states = Vec::new();
        loop {
            states.push(cursor.state());
            let key = match cursor.state() {
                TaskState::Waiting => key::time(7, 8).to_vec(),
                _ => key::route_time(&"r".repeat(128), 7, 8).to_vec(),
            };
            for cursor in [cursor.clone(), cursor.after(&key)] {
                let text = cursor.to_text();
                assert!(text.len() < 256, "{text}");
                assert_eq!(ListCursor::begin(&list(None, Some(&text))).unwrap(), cursor);
                assert!(ListCursor::begin(&list(Some(TaskState::InFlight), Some(&text))).is_err());
            }
            match cursor.next_section(&request) {
                Some(next) => cursor = next,
                None => break,
            }
        }
        assert_eq!(
            states,
            [TaskState::Parked, TaskState::Waiting, TaskState::Dead]
        );
    }

    #[test]
    fn other_text_is_no_cursor() {
        let short = URL_SAFE_NO_PAD.encode(b"w123");
        let long = URL_SAFE_NO_PAD.encode(b"d\x05123");
        let other = URL_SAFE_NO_PAD.encode(b"x");
        for text in ["", "order-17", "é", &short, &long, &other] {
            let refusal = ListCursor::begin(&list(None, Some(text))).unwrap_err();
            assert!(refusal.message.contains(&format!("{text:?}")), "{refusal}");
        }
    }
}
