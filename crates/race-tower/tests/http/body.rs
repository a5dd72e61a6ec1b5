//! A body that follows a script, and what was read of it.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use race_core::test::{VirtualClock, VirtualSleep};

use crate::ms;

#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The pauses before the chunks, and their lengths.
    pub(crate) chunks: Vec<(u64, usize)>,
    /// The pause before the end.
    pub(crate) pause: u64,
    pub(crate) end: End,
    /// It tells its end with its last frame, and its length.
    pub(crate) hints: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Data,
    Trailers,
    Error,
    /// It stays open.
    Never,
}

impl Script {
    pub(crate) fn of(chunks: &[(u64, usize)], end: End) -> Self {
        Self {
            chunks: chunks.to_vec(),
            pause: 0,
            end,
            hints: true,
        }
    }

    /// All bytes, each different from its neighbours.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let len = self.chunks.iter().map(|it| it.1).sum::<usize>();
        (0..len).map(|place| (place % 251) as u8).collect()
    }
}

/// The bytes of the trailers.
pub(crate) const TRAILERS: usize = "name".len() + "value".len();

pub(crate) fn trailers() -> HeaderMap {
    [("name", "value")]
        .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
        .into_iter()
        .collect()
}

/// What was read of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) bytes: usize,
    pub(crate) has_trailers: bool,
    /// Its consumer knows that it has ended.
    pub(crate) has_ended: bool,
    pub(crate) has_failed: bool,
    pub(crate) is_dropped: bool,
}

impl Progress {
    /// The bytes that must be recorded.
    pub(crate) fn recorded(&self) -> usize {
        self.bytes + usize::from(self.has_trailers) * TRAILERS
    }
}

pub(crate) struct Scripted {
    clock: VirtualClock,
    chunks: VecDeque<(u64, Bytes)>,
    pause: u64,
    end: Option<End>,
    hints: bool,
    sleep: Option<Pin<Box<VirtualSleep>>>,
    progress: Arc<Mutex<Progress>>,
}

impl Scripted {
    pub(crate) fn new(script: &Script, clock: &VirtualClock) -> (Self, Arc<Mutex<Progress>>) {
        let mut bytes = Bytes::from(script.bytes());
        let chunks = script.chunks.iter();
        let chunks = chunks.map(|&(pause, len)| (pause, bytes.split_to(len)));
        let progress = Arc::new(Mutex::new(Progress::default()));
        let body = Self {
            clock: clock.clone(),
            chunks: chunks.collect(),
            pause: script.pause,
            end: Some(script.end),
            hints: script.hints,
            sleep: None,
            progress: progress.clone(),
        };
        progress.lock().unwrap().has_ended = body.is_end_stream();
        (body, progress)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap()
    }

    fn poll_pause(&mut self, millis: u64, cx: &mut Context<'_>) -> Poll<()> {
        if millis > 0 {
            let clock = &self.clock;
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(clock.sleep(ms(millis))));
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
        Poll::Ready(())
    }

    fn note_end(&self) {
        let has_ended = self.is_end_stream();
        self.progress().has_ended |= has_ended;
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        assert!(!self.progress().has_failed, "it was polled after its error");
        if let Some(&(pause, _)) = self.chunks.front() {
            ready!(self.poll_pause(pause, cx));
            let (_, chunk) = self.chunks.pop_front().unwrap();
            self.progress().bytes += chunk.len();
            self.note_end();
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        let pause = self.pause;
        ready!(self.poll_pause(pause, cx));
        self.pause = 0;
        Poll::Ready(match self.end.take_if(|end| *end != End::Never) {
            Some(End::Error) => {
                self.progress().has_failed = true;
                Some(Err("broken"))
            }
            Some(End::Trailers) => {
                let mut progress = self.progress();
                (progress.has_ended, progress.has_trailers) = (true, true);
                Some(Ok(Frame::trailers(trailers())))
            }
            Some(End::Data) => {
                self.progress().has_ended = true;
                None
            }
            _ if self.end == Some(End::Never) => return Poll::Pending,
            _ => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        let is_over = matches!(self.end, None | Some(End::Data));
        self.hints && is_over && self.chunks.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.chunks.iter().map(|it| it.1.len() as u64).sum();
        match self.hints {
            true => SizeHint::with_exact(left),
            false => SizeHint::new(),
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.progress().is_dropped = true;
    }
}
