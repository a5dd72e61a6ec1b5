//! Reads a body as a case says, and checks each poll.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt as _, stream::BoxStream};
use object_store::{ObjectStore as _, Result};
use race_core::{Budget, observe::Counters};
use race_object_store::GenericHedgedStore;

use crate::{
    Tally,
    case::{Case, Pause},
    rules::Rules,
    store::{Mark, Scripted, byte},
};

const MS: Duration = Duration::from_millis(1);

/// Longer than any body takes.
const PATIENCE: u64 = 20_000;

pub(crate) struct Reader<'a> {
    case: &'a Case,
    store: Scripted,
    body: BoxStream<'static, Result<Bytes>>,
    counters: Arc<Counters>,
    rules: Rules<'a>,
    woken: Arc<FirstWake>,
    /// The position of the next byte.
    position: u64,
}

/// When the reader was first woken since its latest poll; `u64::MAX` if it was not.
struct FirstWake {
    store: Mutex<Scripted>,
    at: AtomicU64,
}

impl Wake for FirstWake {
    fn wake(self: Arc<Self>) {
        let now = self.store.lock().unwrap().now();
        self.at.fetch_min(now, Ordering::Relaxed);
    }
}

impl FirstWake {
    fn has_woken(&self) -> bool {
        self.at.load(Ordering::Relaxed) != u64::MAX
    }

    fn take(&self) -> Option<u64> {
        let at = self.at.swap(u64::MAX, Ordering::Relaxed);
        (at != u64::MAX).then_some(at)
    }
}

/// What a reader got.
enum Got {
    Bytes,
    Hung,
    End,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(case: &'a Case) -> Self {
        let (store, options) = (Scripted::new(case), &case.options);
        let ms = |millis| MS * millis as u32;
        let (counters, timer) = (Arc::new(Counters::new()), store.clock.timer());
        let mut hedged = GenericHedgedStore::with_timer(store.clone(), timer, ms(options.delay))
            .max_attempts(options.max_attempts)
            .min_gap(ms(options.min_gap))
            .budget(
                options
                    .budget
                    .map(|it| Arc::new(Budget::percent(0).reserve(it))),
            )
            .hedge_bodies(options.hedge_bodies);
        if let Some(max) = options.max_in_flight {
            hedged = hedged.max_in_flight(max);
        }
        if let Some(timeout) = options.attempt_timeout {
            hedged = hedged.attempt_timeout(ms(timeout));
        }
        if let Some(deadline) = options.deadline {
            hedged = hedged.deadline(ms(deadline));
        }
        let hedged = hedged.observer(counters.clone());
        let mut asked = case.asked.options(store.e_tag().as_deref());
        asked.extensions.insert(Mark(7));
        let answer = store.clock.run(hedged.get_opts(&"object".into(), asked));
        let answer = answer.unwrap().unwrap();
        assert_eq!(answer.range, case.range());
        let woken = FirstWake {
            store: Mutex::new(store.clone()),
            at: AtomicU64::new(u64::MAX),
        };
        Self {
            case,
            body: answer.into_stream(),
            counters,
            rules: Rules::new(case),
            woken: Arc::new(woken),
            position: case.range().start,
            store,
        }
    }

    pub(crate) fn run(mut self, tally: &mut Tally) {
        let mut pauses = self.case.pauses.iter().copied();
        loop {
            let pause = pauses.next().unwrap_or(Pause::None);
            tally.slow_readers += u32::from(pause.millis() > self.case.stall());
            match self.take(pause) {
                Got::Bytes => {}
                Got::Hung => {
                    tally.hung += 1;
                    break;
                }
                Got::End => {
                    tally.ended += 1;
                    for _ in 0..2 {
                        assert!(self.poll_body().is_ready(), "it stays at its end");
                    }
                    break;
                }
            }
        }
        self.rules.count(tally);
        let counts = self.counters.counts();
        let (continuations, won) = self.rules.continuations();
        assert_eq!(
            (counts.races, counts.extra, counts.helped),
            (1, continuations, won)
        );
        let Self { body, store, .. } = self;
        drop(body);
        assert!(
            store.requests().iter().all(|it| !it.is_alive),
            "something runs on"
        );
        assert_eq!(store.requests().len() as u64, 1 + continuations);
    }

    /// Takes the next chunk.
    fn take(&mut self, pause: Pause) -> Got {
        if let Pause::Before(millis) = pause {
            self.stay_away(millis);
        }
        if let Some(got) = self.poll() {
            return got;
        }
        if let Pause::AfterPoll(millis) = pause {
            self.stay_away(millis);
            if let Some(got) = self.poll() {
                return got;
            }
        }
        for _ in 0..PATIENCE {
            if self.woken.has_woken() || matches!(pause, Pause::Busy) {
                if let Pause::AfterWakes(millis) = pause {
                    self.stay_away(millis);
                }
                if let Some(got) = self.poll() {
                    return got;
                }
            }
            if self.woken.has_woken() {
                continue; // it yielded
            }
            if self.rules.is_hung(&self.store) {
                return Got::Hung;
            }
            self.store.clock.advance(MS);
            if !self.woken.has_woken() {
                self.rules.check_unwoken(&self.store);
            }
        }
        panic!("it neither ends nor hangs");
    }

    fn stay_away(&self, millis: u64) {
        for _ in 0..millis {
            self.store.clock.advance(MS);
        }
    }

    fn poll_body(&mut self) -> Poll<Option<Result<Bytes>>> {
        let waker = Waker::from(self.woken.clone());
        self.body.poll_next_unpin(&mut Context::from_waker(&waker))
    }

    fn poll(&mut self) -> Option<Got> {
        self.rules.begin_poll(&self.store, self.woken.take());
        let polled = self.poll_body();
        let position = self.position;
        self.rules.end_poll(&self.store, &polled, position);
        let Poll::Ready(next) = polled else {
            return None;
        };
        let Some(Ok(chunk)) = next else {
            return Some(Got::End);
        };
        for got in chunk {
            assert_eq!(got, byte(0, self.position), "at {}", self.position);
            self.position += 1;
        }
        Some(Got::Bytes)
    }
}
