//! Authentication and authorization of the peer of a connection.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use super::{ConnectionContext, Slot, reader::shutdown_started};
use crate::log_limit::Warning;
use hyper_delay_protocol::{
    Code, Credential, Line, Refusal, Request, TaskRequest, TooLong,
    access::{Denial, Grant, Identity, Revoked, Right, Tokens},
};

/// The longest line before authentication, in bytes.
const LONGEST: usize = 4 << 10;

/// The time until a connection must have authenticated. `hello` and `ping` do not extend it.
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(10);

const REVOKED: &str = "the rights of this connection have changed, or its token was \
    revoked: connect again with a valid token";

const TOO_LATE: &str = "this connection has not authenticated within 10 seconds: send \
    {\"kind\":\"auth\",\"token\":…} as the first line (--token-file FILE for the commands)";

const WRONG: &str =
    "the token is wrong or was revoked: get one that `hyper-delay token list` shows";

/// The identity of the peer, and the time until which it must authenticate.
pub(super) struct Authentication<'a, S> {
    shared: &'a ConnectionContext<S>,
    slot: &'a Slot,
    tokens: watch::Receiver<Option<Tokens>>,
    /// Whether the tokens can still change.
    is_watching: bool,
    identity: Identity,
    /// Whether a grant that the connection has used no longer holds.
    is_revoked: bool,
    deadline: Instant,
}

/// The reason why a connection must end.
#[derive(Debug, Clone, Copy)]
pub(super) enum CloseReason {
    /// A grant that it has used no longer holds.
    Revoked,
    /// It did not authenticate in time.
    TooLate,
}

impl CloseReason {
    /// The message for the peer.
    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Revoked => REVOKED,
            Self::TooLate => TOO_LATE,
        }
    }

    /// The reason for the log.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Revoked => "its rights have changed",
            Self::TooLate => "it did not authenticate in time",
        }
    }
}

/// The reason why a request is refused.
#[derive(Debug)]
pub(super) enum AccessDenied {
    /// The peer lacks a right.
    Denial(Denial),
    /// The token of the line is wrong. Its answer waits for this time.
    WrongToken(Duration),
}

impl<'a, S> Authentication<'a, S> {
    /// Starts with the grant of a certificate with these names.
    pub(super) fn new(
        shared: &'a ConnectionContext<S>,
        slot: &'a Slot,
        certificate: Vec<String>,
    ) -> Self {
        let mut tokens = shared.tokens.clone();
        let identity = Identity::new(tokens.borrow_and_update().as_ref(), certificate);
        let authentication = Self {
            shared,
            slot,
            tokens,
            is_watching: true,
            identity,
            is_revoked: false,
            deadline: Instant::now() + AUTHENTICATION_TIMEOUT,
        };
        authentication.release_slot();
        authentication
    }

    /// Returns that of a one-shot request, whose token was checked before. `None`: it needs none.
    pub(super) fn of_one_shot(
        shared: &'a ConnectionContext<S>,
        slot: &'a Slot,
        grant: Option<Arc<Grant>>,
    ) -> Self {
        Self {
            shared,
            slot,
            tokens: shared.tokens.clone(),
            is_watching: false,
            identity: Identity::of_grant(grant),
            is_revoked: false,
            deadline: Instant::now() + AUTHENTICATION_TIMEOUT,
        }
    }

    /// Returns whether the peer has shown who it is, or need not.
    pub(super) fn is_known(&self) -> bool {
        self.identity.is_known()
    }

    /// Returns whether the peer needs rights.
    pub(super) const fn is_guarded(&self) -> bool {
        self.identity.guard().is_some()
    }

    /// Returns an error if the connection must end.
    pub(super) fn check_open(&self) -> Result<(), CloseReason> {
        if self.is_revoked {
            return Err(CloseReason::Revoked);
        }
        match self.is_known() || Instant::now() < self.deadline {
            true => Ok(()),
            false => Err(CloseReason::TooLate),
        }
    }

    /// Returns the longest line that is read now.
    pub(super) fn longest_line(&self) -> usize {
        let most = self.shared.config.max_line_bytes;
        match self.is_known() {
            true => most,
            false => most.min(LONGEST),
        }
    }

    /// Returns the error of a line that is too long.
    pub(super) fn too_long(&self, too_long: TooLong) -> Refusal {
        let message = match self.is_known() {
            true => too_long.to_string(),
            false => format!(
                "the line is longer than {} bytes, the most before authentication: send auth first",
                too_long.limit
            ),
        };
        Refusal::new(Code::LineTooLong, message)
    }

    /// Waits until the tokens change, and takes that into account, or until the time to
    /// authenticate is over. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the connection must end.
    pub(super) async fn changed(&mut self) -> Result<(), CloseReason> {
        let (is_known, deadline) = (self.is_known(), self.deadline);
        // A block of its own, so that no timer is made where none is needed.
        let expired = async { sleep_until(deadline).await };
        let changed = tokio::select! {
            changed = self.tokens.changed(), if self.is_watching => changed,
            () = expired, if !is_known => return Err(CloseReason::TooLate),
            else => pending().await,
        };
        if changed.is_err() {
            // The server is ending.
            self.is_watching = false;
            return Ok(());
        }
        let updated = self
            .identity
            .update(self.tokens.borrow_and_update().as_ref());
        self.is_revoked |= updated.is_err();
        self.release_slot();
        updated.map_err(|Revoked| CloseReason::Revoked)
    }

    /// Checks the token of an `auth`, and gives the peer its rights. Returns its name.
    ///
    /// # Errors
    ///
    /// The cause and the cure, after a wait.
    pub(super) async fn authenticate(
        &mut self,
        line: &Line,
    ) -> Result<Option<Arc<str>>, &'static str> {
        let Some(tokens) = self.tokens.borrow().clone() else {
            return Ok(None);
        };
        match self.check(&tokens, line.token.as_deref()) {
            Ok(grant) => {
                let name = grant.name.as_str().into();
                self.identity.authenticate(grant);
                self.release_slot();
                Ok(Some(name))
            }
            Err(wait) => {
                self.delay(wait).await;
                Err(WRONG)
            }
        }
    }

    /// Decides whether a request is permitted. Returns the grant of the peer, if the request is one
    /// that is decided later.
    pub(super) fn authorize(&mut self, line: &Line) -> Result<Option<Arc<Grant>>, AccessDenied> {
        let Some(own) = self.identity.guard() else {
            return Ok(None);
        };
        let line_grant = match &line.token {
            None => None,
            Some(token) => match &*self.tokens.borrow() {
                None => None,
                Some(tokens) => Some(
                    self.check(tokens, Some(&**token))
                        .map_err(AccessDenied::WrongToken)?,
                ),
            },
        };
        self.identity
            .permits(&line.request, line_grant.as_ref())
            .map_err(AccessDenied::Denial)?;
        let is_schedule = matches!(line.request, Request::Task(TaskRequest::Schedule(_)));
        let grant = is_schedule.then(|| line_grant.clone().or_else(|| own.clone()));
        if let Some(line_grant) = line_grant {
            self.identity.remember(line_grant);
            self.release_slot();
        }
        Ok(grant.flatten())
    }

    /// Returns the cause and the cure, once they may be sent.
    pub(super) async fn denial_message(&self, denied: AccessDenied) -> String {
        match denied {
            AccessDenied::Denial(denial) => denial.to_string(),
            AccessDenied::WrongToken(wait) => {
                self.delay(wait).await;
                WRONG.to_owned()
            }
        }
    }

    /// Returns the name of the token or certificate of the peer.
    pub(super) fn name(&self) -> Option<Arc<str>> {
        let grant = self.identity.guard()?.as_ref()?;
        Some(grant.name.as_str().into())
    }

    /// Returns the grant that limits the routes that the peer administers. `None`: no limit.
    pub(super) fn admin_scope(&self) -> Option<Arc<Grant>> {
        let grant = self.identity.guard()?.clone();
        grant.filter(|grant| !grant.allows_everywhere(Right::Admin))
    }

    fn check(&self, tokens: &Tokens, token: Option<&Credential>) -> Result<Arc<Grant>, Duration> {
        let secret = token.and_then(Credential::secret);
        let peer = self.slot.host();
        let checked = self.shared.failures.check(tokens, secret, peer);
        if checked.is_err() {
            let id = secret.map_or("malformed", |secret| secret.id());
            self.shared.metrics.wrong_tokens.add(1);
            self.shared
                .logs
                .warn(Warning::Token, format_args!("{peer}: token {id}"));
        }
        checked
    }

    /// Waits, at most until the server shuts down.
    async fn delay(&self, wait: Duration) {
        let mut ending = self.shared.ending.clone();
        tokio::select! {
            () = sleep(wait) => {}
            () = shutdown_started(&mut ending) => {}
        }
    }

    /// Releases the place among unauthenticated connections, once the peer has authenticated.
    fn release_slot(&self) {
        if self.is_known() {
            self.slot.release_unauthenticated();
        }
    }
}
