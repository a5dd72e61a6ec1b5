use std::ops::Range;

use fastrand::Rng;
use object_store::{GetOptions, GetRange};

use crate::script::Script;

/// One read of one object, whose options, requests and reader are drawn independently.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) options: Options,
    pub(crate) object: Object,
    /// What is asked for.
    pub(crate) asked: Asked,
    /// What happens to each request; the first one begins in time.
    pub(crate) scripts: Vec<Script>,
    pub(crate) pauses: Vec<Pause>,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) hedge_bodies: bool,
    pub(crate) delay: u64,
    pub(crate) max_attempts: usize,
    pub(crate) max_in_flight: Option<usize>,
    pub(crate) min_gap: u64,
    pub(crate) attempt_timeout: Option<u64>,
    pub(crate) deadline: Option<u64>,
    /// The attempts that the budget pays for.
    pub(crate) budget: Option<u16>,
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) len: u64,
    pub(crate) e_tag: Tag,
    pub(crate) has_version: bool,
    /// When another version replaces the first one.
    pub(crate) overwritten: Option<u64>,
    /// Whether the new version has as many bytes.
    pub(crate) keeps_len: bool,
    /// The store keeps old versions, and returns the one that is asked for.
    pub(crate) keeps_versions: bool,
    /// The store does not know conditions.
    pub(crate) ignores_conditions: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tag {
    Strong,
    Weak,
    None,
}

#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) range: Option<GetRange>,
    pub(crate) if_match: bool,
    pub(crate) if_none_match: bool,
    pub(crate) dates: bool,
}

/// What the reader does before it takes a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pause {
    None,
    /// It is away before its first poll.
    Before(u64),
    /// It polls once, and is away then.
    AfterPoll(u64),
    /// It is away for as long after each wake.
    AfterWakes(u64),
    /// It polls in each millisecond, whether it is woken or not.
    Busy,
}

pub(crate) fn maybe<T>(rng: &mut Rng, draw: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.bool().then(|| draw(rng))
}

impl Case {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let object = Object::draw(rng);
        let asked = Asked::draw(rng, object.len);
        let options = Options::draw(rng);
        // The GET itself is not hedged, so that its first request is the first of the body.
        let limits = [
            Some(options.delay),
            options.attempt_timeout,
            options.deadline,
        ];
        let in_time = limits.into_iter().flatten().min().unwrap_or_default();
        let first = Script::draw(rng).beginning_before(in_time);
        let others = (1..options.max_attempts).map(|_| Script::draw(rng));
        let scripts = [first].into_iter().chain(others).collect();
        let pauses = (0..rng.usize(0..20)).map(|_| Pause::draw(rng)).collect();
        Self {
            options,
            object,
            asked,
            scripts,
            pauses,
        }
    }

    /// The bytes that are asked for.
    pub(crate) fn range(&self) -> Range<u64> {
        let len = self.object.len;
        match &self.asked.range {
            None => 0..len,
            Some(range) => range.as_range(len).unwrap(),
        }
    }

    /// Whether a continuation is possible at all.
    pub(crate) fn can_hedge(&self) -> bool {
        let options = &self.options;
        let is_identified = self.object.e_tag == Tag::Strong || self.object.has_version;
        options.hedge_bodies && options.max_in_flight != Some(1) && is_identified
    }

    /// How long a stall is.
    pub(crate) fn stall(&self) -> u64 {
        self.options.delay.max(self.options.min_gap)
    }

    /// How long a continuation may take to its first byte.
    pub(crate) fn limit(&self) -> Option<u64> {
        let limits = [self.options.attempt_timeout, self.options.deadline];
        limits.into_iter().flatten().min()
    }
}

impl Options {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            hedge_bodies: rng.u8(..10) > 0,
            delay: rng.u64(1..40),
            max_attempts: rng.usize(1..=5),
            max_in_flight: maybe(rng, |rng| rng.usize(1..=4)),
            min_gap: maybe(rng, |rng| rng.u64(1..60)).unwrap_or_default(),
            attempt_timeout: maybe(rng, |rng| rng.u64(1..80)),
            deadline: maybe(rng, |rng| rng.u64(1..120)),
            budget: maybe(rng, |rng| rng.u16(0..=3)),
        }
    }
}

impl Object {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            len: [rng.u64(..20), rng.u64(..300)][rng.usize(..4).min(1)],
            e_tag: [Tag::Strong, Tag::Strong, Tag::Weak, Tag::None][rng.usize(..4)],
            has_version: rng.bool(),
            overwritten: maybe(rng, |rng| rng.u64(1..200)),
            keeps_len: rng.bool(),
            keeps_versions: rng.bool(),
            ignores_conditions: rng.bool(),
        }
    }
}

impl Asked {
    fn draw(rng: &mut Rng, len: u64) -> Self {
        let range = match len {
            0 => None,
            len => maybe(rng, |rng| match rng.u8(..3) {
                0 => {
                    let start = rng.u64(..len);
                    GetRange::Bounded(start..start + rng.u64(1..=2 * len))
                }
                1 => GetRange::Offset(rng.u64(..len)),
                _ => GetRange::Suffix(rng.u64(..2 * len)),
            }),
        };
        Self {
            range,
            if_match: rng.bool(),
            if_none_match: rng.bool(),
            dates: rng.bool(),
        }
    }

    /// The options of the caller, whose conditions the first version meets.
    pub(crate) fn options(&self, e_tag: Option<&str>) -> GetOptions {
        let then = self.dates.then(Default::default);
        GetOptions {
            range: self.range.clone(),
            if_match: e_tag.filter(|_| self.if_match).map(String::from),
            if_none_match: self.if_none_match.then(|| "another".into()),
            if_unmodified_since: then,
            if_modified_since: then,
            ..GetOptions::default()
        }
    }
}

impl Pause {
    fn draw(rng: &mut Rng) -> Self {
        let millis = rng.u64(1..150);
        match rng.u8(..8) {
            0 => Self::Before(millis),
            1 => Self::AfterPoll(millis),
            2 => Self::AfterWakes(millis),
            3 => Self::Busy,
            _ => Self::None,
        }
    }

    pub(crate) fn millis(self) -> u64 {
        match self {
            Self::Before(millis) | Self::AfterPoll(millis) | Self::AfterWakes(millis) => millis,
            Self::None | Self::Busy => 0,
        }
    }
}
