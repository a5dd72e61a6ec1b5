//! Random reads, held against a model that looks at each millisecond.

use std::{collections::BTreeMap, error::Error as _};

use fastrand::Rng;
use object_store::{Error, GetOptions, ObjectStore as _, ObjectStoreExt as _};
use race_core::OnFailure;
use race_object_store::TimeoutError;

use crate::slow::{HANGS, Kind, Slow, Step, TEXT, after, ms};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Get,
    GetEmpty,
    GetRange,
    Head,
    GetRanges,
}

/// How an attempt ends, and after how long.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    takes: u64,
    /// How much of it is for the headers, if there is a body.
    headers: u64,
    fails: Option<Kind>,
    /// It fails after the headers.
    breaks: bool,
}

#[derive(Clone, Debug)]
struct Case {
    operation: Operation,
    delay: u64,
    max_attempts: usize,
    max_in_flight: usize,
    min_gap: u64,
    on_failure: OnFailure,
    attempt_timeout: Option<u64>,
    deadline: Option<u64>,
    attempts: Vec<Attempt>,
}

/// What a read ends with.
#[derive(Debug, PartialEq)]
enum End {
    Read,
    /// The error of the attempt with this number.
    Failed(usize),
    TimedOut,
    Deadline,
}

#[derive(Debug, PartialEq)]
struct Outcome {
    end: End,
    at: u64,
    /// When each attempt started.
    starts: Vec<u64>,
    /// When attempts were cancelled, by number.
    cancelled: BTreeMap<usize, u64>,
}

impl Case {
    fn draw(rng: &mut Rng) -> Self {
        use Operation::*;
        let operation = rng.choice([Get, GetEmpty, GetRange, Head, GetRanges]);
        let operation = operation.expect("there are five");
        let max_attempts = rng.usize(1..=4);
        let in_flight = [usize::MAX, 1, 2, 3];
        let on_failure = [
            OnFailure::Any,
            OnFailure::IfLatest,
            OnFailure::IfIdle,
            OnFailure::Wait,
        ];
        let limit = |rng: &mut Rng, most| rng.bool().then(|| rng.u64(1..most));
        Self {
            operation,
            delay: rng.u64(0..60),
            max_attempts,
            max_in_flight: rng.choice(in_flight).expect("there are four"),
            min_gap: limit(rng, 30).unwrap_or_default(),
            on_failure: rng.choice(on_failure).expect("there are four"),
            attempt_timeout: limit(rng, 100),
            deadline: limit(rng, 200),
            attempts: (0..max_attempts).map(|_| Attempt::draw(rng)).collect(),
        }
    }

    fn has_body(&self) -> bool {
        matches!(
            self.operation,
            Operation::Get | Operation::GetEmpty | Operation::GetRange
        )
    }

    fn step(&self, attempt: &Attempt) -> Step {
        let Attempt { takes, headers, .. } = *attempt;
        match attempt.fails {
            _ if takes == HANGS && self.has_body() => after(headers).chunks(HANGS),
            _ if takes == HANGS => after(HANGS),
            Some(Kind::Generic) if self.has_body() && attempt.breaks => {
                after(headers).chunks(takes - headers).breaks_at(0)
            }
            Some(kind) => after(takes).fails(kind),
            None if self.has_body() => after(headers).chunks(takes - headers),
            None => after(takes),
        }
    }

    /// What should happen.
    fn expected(&self) -> Outcome {
        let mut starts = vec![];
        let mut running = vec![];
        let mut cancelled = BTreeMap::new();
        let mut last_error = None;
        let mut due = 0;
        for now in 0.. {
            loop {
                let done = |&number: &usize| {
                    starts[number] + self.attempts[number].takes.min(100_000) == now
                };
                let timed_out = |&number: &usize| {
                    self.attempt_timeout
                        .is_some_and(|it| starts[number] + it == now)
                };
                let failed = if let Some(place) = running.iter().position(done) {
                    let number = running.remove(place);
                    let end = match self.attempts[number].fails {
                        None => Some(End::Read),
                        Some(Kind::Generic) => None,
                        Some(_) => Some(End::Failed(number)),
                    };
                    if let Some(end) = end {
                        return self.outcome(end, now, starts, running, cancelled);
                    }
                    last_error = Some(number);
                    number
                } else if let Some(place) = running.iter().position(timed_out) {
                    let number = running.remove(place);
                    cancelled.insert(number, now);
                    number
                } else if self.deadline == Some(now) {
                    return self.outcome(End::Deadline, now, starts, running, cancelled);
                } else if now >= due
                    && starts.last().is_none_or(|last| now >= last + self.min_gap)
                    && starts.len() < self.max_attempts
                    && running.len() < self.max_in_flight
                {
                    running.push(starts.len());
                    starts.push(now);
                    due = now + self.delay;
                    continue;
                } else {
                    break;
                };
                let is_latest = failed + 1 == starts.len();
                if match self.on_failure {
                    OnFailure::Any => true,
                    OnFailure::IfLatest => is_latest || running.is_empty(),
                    OnFailure::IfIdle => running.is_empty(),
                    _ => false,
                } {
                    due = now;
                }
                if running.is_empty() && starts.len() == self.max_attempts {
                    let end = last_error.map_or(End::TimedOut, End::Failed);
                    return self.outcome(end, now, starts, running, cancelled);
                }
            }
        }
        unreachable!("every case ends");
    }

    fn outcome(
        &self,
        end: End,
        at: u64,
        starts: Vec<u64>,
        running: Vec<usize>,
        mut cancelled: BTreeMap<usize, u64>,
    ) -> Outcome {
        cancelled.extend(running.into_iter().map(|number| (number, at)));
        Outcome {
            end,
            at,
            starts,
            cancelled,
        }
    }

    /// What happens.
    fn run(&self) -> Outcome {
        let slow = Slow::new(self.attempts.iter().map(|attempt| self.step(attempt)));
        let mut store = slow
            .hedged_by(ms(self.delay))
            .max_attempts(self.max_attempts)
            .max_in_flight(self.max_in_flight)
            .min_gap(ms(self.min_gap))
            .on_failure(self.on_failure);
        if let Some(timeout) = self.attempt_timeout {
            store = store.attempt_timeout(ms(timeout));
        }
        if let Some(deadline) = self.deadline {
            store = store.deadline(ms(deadline));
        }
        let (path, empty) = ("a".into(), "empty".into());
        // Decided here; the body is read afterwards.
        let (read, expected) = slow.run(async {
            match self.operation {
                Operation::Get => (store.get(&path).await.map(Ok), TEXT),
                Operation::GetEmpty => (store.get(&empty).await.map(Ok), ""),
                Operation::GetRange => {
                    let range = GetOptions::new().with_range(Some(4..9));
                    (store.get_opts(&path, range).await.map(Ok), &TEXT[4..9])
                }
                Operation::Head => {
                    let size = store.head(&path).await.map(|it| Err(it.size.to_string()));
                    (size, "19")
                }
                Operation::GetRanges => {
                    let read = store.get_ranges(&path, &[16..19, 0..3]).await;
                    let joined = read.map(|it| String::from_utf8(it.concat()).unwrap());
                    (joined.map(Err), "foxthe")
                }
            }
        });
        let (at, cancelled) = (slow.millis(), slow.dropped().into_iter().collect());
        let starts = slow.reads();
        let end = match read {
            Ok(answer) => {
                let bytes = match answer {
                    Ok(result) => slow.run(result.bytes()).unwrap(),
                    Err(text) => text.into(),
                };
                assert_eq!(bytes, expected);
                End::Read
            }
            Err(error) => end_of(&error),
        };
        Outcome {
            end,
            at,
            starts,
            cancelled,
        }
    }
}

impl Attempt {
    fn draw(rng: &mut Rng) -> Self {
        let takes = match rng.u8(0..5) {
            0 => HANGS,
            _ => rng.u64(0..120),
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
        }
    }
}

fn end_of(error: &Error) -> End {
    let source = error.source().and_then(|it| it.downcast_ref());
    match source {
        Some(TimeoutError::Attempts { .. }) => return End::TimedOut,
        Some(TimeoutError::Deadline { .. }) => return End::Deadline,
        _ => {}
    }
    let text = error.to_string();
    let (_, number) = text.split_once("read ").unwrap();
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    End::Failed(digits.parse().unwrap())
}

#[test]
fn random_reads_end_as_the_model_says() {
    let mut rng = Rng::with_seed(14);
    let mut ends = BTreeMap::new();
    for _ in 0..20_000 {
        let mut case = Case::draw(&mut rng);
        let endless = case.attempts.iter().any(|it| it.takes == HANGS);
        if endless && case.attempt_timeout.is_none() {
            case.deadline = Some(case.deadline.unwrap_or(300));
        }
        let expected = case.expected();
        assert_eq!(case.run(), expected, "{case:#?}");
        *ends.entry(format!("{:.4?}", expected.end)).or_insert(0) += 1;
    }
    assert!(
        ends.len() >= 4 && ends.values().all(|&count| count > 100),
        "{ends:?}"
    );
}
