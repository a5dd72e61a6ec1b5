use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use hyper_delay_protocol::{Code, Filter, List, Refusal, State};
use hyper_delay_store::Space;

/// Where a list continues: a state, and the key in its space after which the next task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    part: Part,
    /// Empty at the start of the space.
    key: Box<[u8]>,
}

/// A part of a list. The parts follow one another in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Parked,
    Waiting,
    Dead,
}

impl Part {
    const ALL: [Self; 3] = [Self::Parked, Self::Waiting, Self::Dead];

    const fn letter(self) -> u8 {
        match self {
            Self::Parked => b'p',
            Self::Waiting => b'w',
            Self::Dead => b'd',
        }
    }

    const fn state(self) -> State {
        match self {
            Self::Parked => State::Parked,
            Self::Waiting => State::Waiting,
            Self::Dead => State::Dead,
        }
    }
}

impl Cursor {
    /// Returns where a list begins: at its cursor, or at the first task.
    pub(super) fn begin(asked: &List) -> Result<Self, Refusal> {
        let is_asked = |part: &Part| asked.state.is_none_or(|state| state == part.state());
        let Some(after) = &asked.after else {
            let first = Part::ALL.into_iter().find(is_asked);
            return Ok(Self::start_of(first.unwrap_or(Part::Waiting)));
        };
        let cursor = Self::parse(after).filter(|cursor| is_asked(&cursor.part));
        cursor.ok_or_else(|| Refusal {
            route: asked.route.clone(),
            ..Refusal::new(
                Code::BadField,
                format!(
                    "after is {after:?}, which is no cursor of this list: give the `next` of the \
                     reply before, or begin without it"
                ),
            )
        })
    }

    /// Returns where a list of dead letters begins.
    pub(super) fn of_dead(
        route: Option<&Arc<str>>,
        after: Option<&Arc<str>>,
    ) -> Result<Self, Refusal> {
        Self::begin(&List {
            route: route.cloned(),
            state: Some(State::Dead),
            filter: Filter::default(),
            after: after.cloned(),
            limit: 1,
            payload: false,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (letter, key) = bytes.split_first()?;
        let part = Part::ALL.into_iter().find(|it| it.letter() == *letter)?;
        let is_key = key.is_empty()
            || match part {
                Part::Waiting => key.len() == 16,
                Part::Parked | Part::Dead => key.len() == 17 + usize::from(key[0]),
            };
        is_key.then(|| Self {
            part,
            key: key.into(),
        })
    }

    /// The cursor on the wire.
    pub(super) fn to_text(&self) -> Arc<str> {
        let bytes = [&[self.part.letter()], &*self.key].concat();
        URL_SAFE_NO_PAD.encode(bytes).into()
    }

    /// The state of the tasks from here on.
    pub(super) const fn state(&self) -> State {
        self.part.state()
    }

    /// The space of the tasks from here on.
    pub(super) const fn space(&self) -> Space {
        match self.part {
            Part::Parked => Space::Parked,
            Part::Waiting => Space::Waiting,
            Part::Dead => Space::Dead,
        }
    }

    /// The key after which the next task is.
    pub(super) fn key(&self) -> Option<&[u8]> {
        Some(&*self.key).filter(|key| !key.is_empty())
    }

    /// Returns the cursor after a key of the same space.
    pub(super) fn after(&self, key: &[u8]) -> Self {
        Self {
            part: self.part,
            key: key.into(),
        }
    }

    /// Returns the start of the next state that is asked for.
    pub(super) fn next_space(&self, asked: &List) -> Option<Self> {
        if asked.state.is_some() {
            return None;
        }
        match self.part {
            Part::Parked => Some(Self::start_of(Part::Waiting)),
            Part::Waiting => Some(Self::start_of(Part::Dead)),
            Part::Dead => None,
        }
    }

    fn start_of(part: Part) -> Self {
        Self {
            part,
            key: Box::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_delay_store::record::key;

    fn list(state: Option<State>, after: Option<&str>) -> List {
        List {
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
        let asked = list(None, None);
        let mut cursor = Cursor::begin(&asked).unwrap();
        let mut states = Vec::new();
        loop {
            states.push(cursor.state());
            let key = match cursor.state() {
                State::Waiting => key::time(7, 8).to_vec(),
                _ => key::route_time(&"r".repeat(128), 7, 8).to_vec(),
            };
            for cursor in [cursor.clone(), cursor.after(&key)] {
                let text = cursor.to_text();
                assert!(text.len() < 256, "{text}");
                assert_eq!(Cursor::begin(&list(None, Some(&text))).unwrap(), cursor);
                assert!(Cursor::begin(&list(Some(State::InFlight), Some(&text))).is_err());
            }
            match cursor.next_space(&asked) {
                Some(next) => cursor = next,
                None => break,
            }
        }
        assert_eq!(states, [State::Parked, State::Waiting, State::Dead]);
    }

    #[test]
    fn other_text_is_no_cursor() {
        let short = URL_SAFE_NO_PAD.encode(b"w123");
        let long = URL_SAFE_NO_PAD.encode(b"d\x05123");
        let other = URL_SAFE_NO_PAD.encode(b"x");
        for text in ["", "order-17", "é", &short, &long, &other] {
            let refusal = Cursor::begin(&list(None, Some(text))).unwrap_err();
            assert!(refusal.message.contains(&format!("{text:?}")), "{refusal}");
        }
    }
}
