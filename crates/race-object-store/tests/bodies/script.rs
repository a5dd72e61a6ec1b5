use fastrand::Rng;

use crate::case::maybe;

/// What happens to one request.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The time until the answer or the error.
    pub(crate) headers: u64,
    pub(crate) fails: Option<Fail>,
    pub(crate) lies: Option<Lie>,
    /// The time before each chunk, and its length, which may be zero.
    pub(crate) chunks: Vec<(u64, usize)>,
    /// What follows the chunks, if they are not the whole body.
    pub(crate) end: End,
    /// The time before a chunk begins when it is asked for, and not after the chunk before.
    pub(crate) is_lazy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fail {
    /// A further request may succeed.
    Generic,
    /// These are answers.
    NotFound,
    PermissionDenied,
}

/// An answer that does not fit the request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lie {
    Range,
    Size,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// All that is left, in one chunk.
    Rest,
    Breaks,
    /// The body ends too early.
    Early,
    Hangs,
}

impl Script {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        use End::*;
        let longest = [10, 100, 200, 400][rng.usize(..4)];
        let chunk = |rng: &mut Rng| {
            let wait = if rng.u8(..3) == 0 {
                0
            } else {
                rng.u64(..longest)
            };
            let len = if rng.u8(..5) == 0 {
                0
            } else {
                rng.usize(1..30)
            };
            (wait, len)
        };
        let mut chunks: Vec<_> = (0..rng.usize(..10)).map(|_| chunk(rng)).collect();
        // The end, too, takes its time.
        chunks.push((chunk(rng).0, 0));
        Self {
            headers: if rng.bool() { 0 } else { rng.u64(..longest) },
            fails: (rng.u8(..6) == 0).then(|| {
                let fails = [Fail::Generic, Fail::NotFound, Fail::PermissionDenied];
                fails[rng.usize(..3)]
            }),
            lies: (rng.u8(..8) == 0).then(|| [Lie::Range, Lie::Size][rng.usize(..2)]),
            chunks,
            end: [Rest, Rest, Breaks, Breaks, Early, Hangs][rng.usize(..6)],
            is_lazy: maybe(rng, |_| ()).is_some(),
        }
    }

    /// Answers at once and truly, and has its first byte before a time.
    pub(crate) fn beginning_before(mut self, limit: u64) -> Self {
        let (wait, len) = self.chunks.first().copied().unwrap_or_default();
        self.chunks.insert(0, (wait % limit, len.max(1)));
        Self {
            headers: 0,
            fails: None,
            lies: None,
            ..self
        }
    }
}
