//! Chooses the member of etcd that is asked.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hyper_delay_etcd::Client;
use race_core::{Budget, Verdict, outcome::GenericRaceError};
use race_tokio::Race;

use super::{
    endpoint::{EtcdCall, EtcdEndpoint},
    error::EtcdError,
};
use crate::log::{LogUnanswered, UnansweredReason};

/// The delay before a second member is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HedgeDelay {
    /// Soon: requests that are small, and that must not be late.
    Soon,
    /// After half of the time, and only in a tenth of the requests: a slow disk is not given
    /// everything twice.
    Late,
    /// Not at all, unless the one before has failed.
    Never,
}

/// The members of etcd. The one that answered last is asked first.
#[derive(Debug)]
pub(super) struct EtcdEndpoints {
    all: Box<[Arc<EtcdEndpoint>]>,
    first: AtomicUsize,
    deadline: Duration,
    budget: Budget,
}

/// Why a member has not answered.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {source}")]
struct EndpointError {
    url: Arc<str>,
    source: EtcdError,
}

/// The calls of one request, in the order of their begin.
#[derive(Default)]
struct RequestCalls(Mutex<Vec<(Arc<EtcdEndpoint>, EtcdCall)>>);

impl RequestCalls {
    fn begin(&self, endpoint: &Arc<EtcdEndpoint>) -> EtcdCall {
        let call = endpoint.call();
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((endpoint.clone(), call.clone()));
        call
    }

    fn all(self) -> Vec<(Arc<EtcdEndpoint>, EtcdCall)> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EtcdEndpoints {
    /// Creates them. A request is given up after `deadline`.
    pub(super) fn new(all: impl IntoIterator<Item = EtcdEndpoint>, deadline: Duration) -> Self {
        Self {
            all: all.into_iter().map(Arc::new).collect(),
            first: AtomicUsize::new(0),
            deadline,
            budget: Budget::percent(10).reserve(10),
        }
    }

    /// Returns the time after which a request is given up.
    pub(super) const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Returns the member that is asked first, or the one `skipped` places after it.
    pub(super) fn at(&self, skipped: usize) -> &EtcdEndpoint {
        self.after(self.first.load(Ordering::Relaxed), skipped)
    }

    fn after(&self, first: usize, skipped: usize) -> &Arc<EtcdEndpoint> {
        &self.all[(first + skipped % self.all.len()) % self.all.len()]
    }

    /// Asks the members, one after the other, until one answers.
    ///
    /// # Errors
    ///
    /// If none does in time.
    pub(super) async fn ask<A, F>(
        &self,
        pace: HedgeDelay,
        run: impl Fn(Client) -> F + Send,
    ) -> Result<A, LogUnanswered>
    where
        A: Send,
        F: Future<Output = Result<A, EtcdError>> + Send,
    {
        let first = self.first.load(Ordering::Relaxed);
        let order = (0..self.all.len()).map(|place| self.after(first, place).clone());
        let calls = RequestCalls::default();
        let attempt = |endpoint: &Arc<EtcdEndpoint>| {
            let call = calls.begin(endpoint);
            let (url, run) = (endpoint.url().clone(), &run);
            async move {
                let answer = async { run(call.client().await?).await };
                let answer = answer.await;
                if answer.is_ok() {
                    call.answered();
                }
                answer.map_err(|source| EndpointError { url, source })
            }
        };
        let delay = match pace {
            HedgeDelay::Soon => self.deadline / 8,
            HedgeDelay::Late => self.deadline / 2,
            HedgeDelay::Never => Duration::MAX,
        };
        let race = Race::new(delay, attempt, order)
            .deadline(self.deadline)
            .budget((pace == HedgeDelay::Late).then_some(&self.budget));
        let decided = race.first_ok_by(|failed: &EndpointError| match failed.source.is_final() {
            true => Verdict::Fatal,
            false => Verdict::Retryable,
        });
        let decided = decided.await;
        let calls = calls.all();
        match decided {
            Ok(won) if won.index == 0 => Ok(won.output),
            Ok(won) => {
                self.advance(first, &calls[..won.index]);
                Ok(won.output)
            }
            Err(error @ GenericRaceError::Fatal { .. }) => {
                let fatal = error.into_last_error().expect("one was fatal");
                Err(LogUnanswered(UnansweredReason::Damage(format!(
                    "etcd at {fatal}"
                ))))
            }
            Err(error) => {
                self.advance(first, &calls);
                let urls: Vec<_> = calls.iter().map(|(it, _)| &**it.url()).collect();
                let why = format!("etcd at {}: {error}", urls.join(", "));
                Err(LogUnanswered(UnansweredReason::Silence(why)))
            }
        }
    }

    /// These calls to the members after `first` were not answered: another one is asked first.
    fn advance(&self, first: usize, passed: &[(Arc<EtcdEndpoint>, EtcdCall)]) {
        for (endpoint, call) in passed {
            endpoint.forget(call);
        }
        let next = (first + passed.len()) % self.all.len();
        // Unless another request has done so meanwhile.
        let _moved = self
            .first
            .compare_exchange(first, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}
