//! What happens.

use std::{error::Error as _, future::poll_fn, ops::Range, pin::pin, sync::Arc, task::Poll};

use object_store::{Error, GetOptions, ObjectStore, ObjectStoreExt as _};
use race_core::Budget;
use race_object_store::TimeoutError;

use super::{
    End, Outcome,
    case::{BudgetOptions, Case, Operation, Options, Read},
};
use crate::slow::{Slow, TEXT, ms};

impl Case {
    /// Returns what happens to each read.
    pub(super) fn run(&self) -> Vec<Outcome> {
        let budget = self.options.budget.map(|it| Arc::new(it.budget()));
        let reads = self.reads.iter();
        let run = |read: &Read| read.run(&self.options, budget.clone());
        reads.map(run).collect()
    }
}

impl BudgetOptions {
    fn budget(self) -> Budget {
        let budget = Budget::percent(self.percent)
            .reserve(self.reserve)
            .savings(self.savings);
        match self.charges_failover {
            true => budget.charge_failover(),
            false => budget,
        }
    }
}

impl Options {
    fn hedged(&self, slow: &Slow, budget: Option<Arc<Budget>>) -> impl ObjectStore + use<> {
        let mut store = slow
            .hedged_by(ms(self.delay))
            .max_attempts(self.max_attempts)
            .max_in_flight(self.max_in_flight)
            .min_gap(ms(self.min_gap))
            .on_failure(self.on_failure)
            .catch_up(self.catch_up)
            .classify(self.answers.classifier())
            // The bodies are read after the read was decided; `tests/bodies` hedges them.
            .hedge_bodies(false);
        if let Some(timeout) = self.attempt_timeout {
            store = store.attempt_timeout(ms(timeout));
        }
        if let Some(deadline) = self.deadline {
            store = store.deadline(ms(deadline));
        }
        match budget {
            Some(budget) => store.budget(budget),
            None => store,
        }
    }
}

impl Read {
    fn run(&self, options: &Options, budget: Option<Arc<Budget>>) -> Outcome {
        let slow = Slow::new(self.attempts.iter().map(|attempt| self.step(attempt)));
        let store = options.hedged(&slow, budget);
        let (path, empty) = ("a".into(), "empty".into());
        // Decided here; the body is read afterwards.
        let read = async {
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
        };
        let (read, expected) = slow.run(except_in(self.unpolled.clone(), &slow, read));
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

/// Polls a future, except in `unpolled`.
async fn except_in<F: Future>(unpolled: Range<u64>, slow: &Slow, future: F) -> F::Output {
    let mut over = pin!(slow.clock.sleep(ms(unpolled.end)));
    let mut future = pin!(future);
    poll_fn(|cx| {
        let is_over = over.as_mut().poll(cx).is_ready();
        match is_over || slow.millis() < unpolled.start {
            true => future.as_mut().poll(cx),
            false => Poll::Pending,
        }
    })
    .await
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
