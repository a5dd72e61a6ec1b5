use std::ops::Range;

use fastrand::Rng;
use object_store::Error;
use race_core::{CatchUp, OnFailure, Verdict};
use race_object_store::classify;

use crate::slow::{HANGS, Kind, Step, after};

/// Reads one after the other, with the same options and one budget.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) options: Options,
    pub(super) reads: Vec<Read>,
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) delay: u64,
    pub(super) max_attempts: usize,
    pub(super) max_in_flight: usize,
    pub(super) min_gap: u64,
    pub(super) on_failure: OnFailure,
    pub(super) catch_up: CatchUp,
    pub(super) attempt_timeout: Option<u64>,
    pub(super) deadline: Option<u64>,
    pub(super) budget: Option<BudgetOptions>,
    pub(super) answers: Answers,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BudgetOptions {
    pub(super) percent: u16,
    pub(super) reserve: u16,
    pub(super) savings: u16,
    pub(super) charges_failover: bool,
}

/// Which errors are answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Answers {
    Default,
    All,
    None,
}

#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) operation: Operation,
    pub(super) attempts: Vec<Attempt>,
    /// When its future is not polled. Empty, or after its first poll.
    pub(super) unpolled: Range<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Get,
    GetEmpty,
    GetRange,
    Head,
    GetRanges,
}

/// How an attempt ends, and after how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    takes: u64,
    /// How much of it is for the headers, if there is a body.
    headers: u64,
    pub(super) fails: Option<Kind>,
    /// It fails after the headers.
    breaks: bool,
    /// The body begins with an empty chunk.
    hesitates: bool,
}

fn one_of<T: Clone, const N: usize>(rng: &mut Rng, choices: [T; N]) -> T {
    choices[rng.usize(..N)].clone()
}

fn maybe<T>(rng: &mut Rng, draw: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.bool().then(|| draw(rng))
}

impl Case {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let mut options = Options::draw(rng);
        let reads = (0..rng.usize(1..=3)).map(|_| Read::draw(rng, options.max_attempts));
        let reads: Vec<_> = reads.collect();
        let mut attempts = reads.iter().flat_map(|read| &read.attempts);
        if options.attempt_timeout.is_none() && attempts.any(|it| it.takes == HANGS) {
            options.deadline = Some(options.deadline.unwrap_or(300));
        }
        Self { options, reads }
    }

    /// Returns the same case with another option.
    pub(super) fn with(&self, change: impl FnOnce(&mut Options)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.options);
        changed
    }
}

impl Options {
    fn draw(rng: &mut Rng) -> Self {
        use OnFailure::*;
        Self {
            delay: rng.u64(0..60),
            max_attempts: rng.usize(1..=6),
            max_in_flight: one_of(rng, [usize::MAX, 1, 2, 3]),
            min_gap: maybe(rng, |rng| rng.u64(1..30)).unwrap_or_default(),
            on_failure: one_of(rng, [Any, IfLatest, IfIdle, Wait]),
            catch_up: one_of(rng, [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip]),
            attempt_timeout: maybe(rng, |rng| rng.u64(1..100)),
            deadline: maybe(rng, |rng| rng.u64(1..400)),
            budget: maybe(rng, |rng| BudgetOptions {
                percent: rng.u16(0..=150),
                reserve: rng.u16(0..=2),
                savings: rng.u16(0..=2),
                charges_failover: rng.bool(),
            }),
            answers: one_of(rng, [Answers::Default, Answers::All, Answers::None]),
        }
    }
}

impl Options {
    /// Whether an attempt that starts late moves the later ones.
    pub(super) fn catches_up(&self) -> bool {
        self.catch_up != CatchUp::Delay
    }
}

impl Answers {
    pub(super) fn classifier(self) -> fn(&Error) -> Verdict {
        match self {
            Self::Default => classify,
            Self::All => |_| Verdict::Fatal,
            Self::None => |_| Verdict::Retryable,
        }
    }
}

impl Read {
    fn draw(rng: &mut Rng, attempts: usize) -> Self {
        use Operation::*;
        let unpolled = maybe(rng, |rng| {
            let from = rng.u64(1..60);
            from..from + rng.u64(1..150)
        });
        Self {
            operation: one_of(rng, [Get, GetEmpty, GetRange, Head, GetRanges]),
            attempts: (0..attempts).map(|_| Attempt::draw(rng)).collect(),
            unpolled: unpolled.unwrap_or_default(),
        }
    }

    /// Returns what an attempt waits for, one after the other: its end, or its headers and then
    /// the first chunk.
    pub(super) fn waits(&self, attempt: &Attempt) -> Vec<u64> {
        use Operation::*;
        let has_body = matches!(self.operation, Get | GetEmpty | GetRange);
        let fails_at_once = attempt.fails.is_some() && !attempt.breaks_off();
        match attempt.takes {
            takes if !has_body || fails_at_once => vec![takes],
            HANGS => vec![attempt.headers, HANGS],
            takes => vec![attempt.headers, takes - attempt.headers],
        }
    }

    pub(super) fn step(&self, attempt: &Attempt) -> Step {
        let step = match self.waits(attempt)[..] {
            [headers, chunk] if attempt.breaks_off() => after(headers).chunks(chunk).breaks_at(0),
            [headers, chunk] => after(headers).chunks(chunk),
            _ => match attempt.fails {
                Some(kind) => after(attempt.takes).fails(kind),
                None => after(attempt.takes),
            },
        };
        match attempt.hesitates {
            true => step.hesitates(),
            false => step,
        }
    }
}

impl Attempt {
    fn draw(rng: &mut Rng) -> Self {
        let takes = match rng.u8(0..5) {
            0 => HANGS,
            _ => rng.u64(0..200),
        };
        let fails = match rng.u8(0..6) {
            0 | 1 => Some(Kind::Generic),
            2 => rng.choice(Kind::ANSWERS),
            _ => None,
        };
        Self {
            takes,
            headers: rng.u64(0..=takes.min(200)),
            fails,
            breaks: rng.bool(),
            hesitates: rng.bool(),
        }
    }

    fn breaks_off(&self) -> bool {
        self.breaks && self.fails == Some(Kind::Generic)
    }
}
