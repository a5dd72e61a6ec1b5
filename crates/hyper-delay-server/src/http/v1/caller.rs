//! The sender of a request and its rights.

use std::sync::Arc;

use axum::http::{HeaderMap, header::AUTHORIZATION};
use tokio::time::sleep;

use crate::http::{
    host_check::single_header,
    listener::ConnectionInfo,
    problem::{Problem, code},
    state::HttpBackend,
};
use hyper_delay_protocol::{
    access::{Denial, Grant, Right},
    secret::Secret,
};

/// The sender of a request.
#[derive(Debug)]
pub(in crate::http) enum Caller {
    /// The holder of a token.
    Holder(Arc<Grant>),
    /// There is no token in the request.
    Anonymous {
        /// Whether it comes from this machine.
        is_local: bool,
        /// Whether the server has tokens.
        needs_token: bool,
        /// Whether a token would be taken from it.
        may_show: bool,
    },
}

const NO_TOKENS: &str = "the server has no tokens: make one with `hyper-delay token new`, and set \
    `tokens` in its configuration";

const NO_TOKEN: &str = "there is no token: send one in the header Authorization: Bearer";

const WRONG: &str = "the token is not one of the server: send another one";

const NO_BEARER: &str = "Authorization is no token: send `Bearer` and a token that begins with hd_";

const NOT_ENCRYPTED: &str = "this listener is not encrypted, and takes tokens from its own machine \
    only: set `tls` in its configuration, or use a tunnel, such as ssh -L";

const NOT_ADMIN: &str = "this needs the right admin on *: use a token that has it";

const NOT_LOCAL: &str =
    "without tokens, the server answers programs on its machine: ask from 127.0.0.1 or ::1";

/// Finds out who sends a request. The answer to a wrong token waits, longer with each failure from
/// the same address.
pub(in crate::http) async fn identify(
    backend: &HttpBackend,
    info: ConnectionInfo,
    headers: &HeaderMap,
) -> Result<Caller, Problem> {
    let tokens = backend.tokens();
    // Anyone on the way could read it.
    let may_show = info.is_encrypted || info.peer.is_loopback();
    let Some(header) = single_header(headers, AUTHORIZATION)? else {
        return Ok(Caller::Anonymous {
            is_local: info.peer.is_loopback(),
            needs_token: tokens.is_some(),
            may_show,
        });
    };
    if !may_show {
        return Err(Problem::forbidden(NOT_ENCRYPTED));
    }
    let Some(tokens) = tokens else {
        return Err(Problem::new(code::UNAUTHENTICATED, NO_TOKENS));
    };
    let secret = bearer(header);
    let wait = match backend.check(&tokens, secret.as_ref(), info.peer) {
        Ok(grant) => return Ok(Caller::Holder(grant)),
        Err(wait) => wait,
    };
    sleep(wait).await;
    let why = match secret {
        Some(_) => WRONG,
        None => NO_BEARER,
    };
    Err(Problem::new(code::UNAUTHENTICATED, why))
}

fn bearer(header: &str) -> Option<Secret> {
    let (scheme, token) = header.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    Secret::parse(token.trim()).filter(|_| is_bearer)
}

/// The request needs a token.
fn no_token(may_show: bool) -> Problem {
    match may_show {
        true => Problem::new(code::UNAUTHENTICATED, NO_TOKEN),
        false => Problem::forbidden(NOT_ENCRYPTED),
    }
}

impl Caller {
    /// Refuses a sender without a token if the server has tokens.
    fn has_needed_token(&self) -> Result<(), Problem> {
        match self {
            Self::Anonymous {
                needs_token: true,
                may_show,
                ..
            } => Err(no_token(*may_show)),
            Self::Anonymous { .. } | Self::Holder(_) => Ok(()),
        }
    }

    /// Refuses a change by a sender without a token, even where the protocol needs none.
    pub(super) fn may_change(&self) -> Result<(), Problem> {
        self.has_needed_token()?;
        match self {
            Self::Holder(_) => Ok(()),
            Self::Anonymous { .. } => {
                let text = format!("changes over HTTP need a token, and {NO_TOKENS}");
                Err(Problem::forbidden(text))
            }
        }
    }

    /// Refuses a request by a sender without a token, unless the server has none and the sender is
    /// on its machine. What the holder of a token may do is decided where the request is answered.
    pub(super) fn may_read(&self) -> Result<(), Problem> {
        self.has_needed_token()?;
        match self {
            Self::Holder(_) => Ok(()),
            Self::Anonymous { is_local, .. } => local(*is_local),
        }
    }

    /// Refuses a sender that may not see numbers of tasks: they are for programs on this machine,
    /// and for holders of the right `admin`, to whom those of their routes are shown.
    pub(super) fn may_see_numbers(&self) -> Result<(), Problem> {
        match self {
            Self::Holder(grant) => match grant.rights.contains(&Right::Admin) {
                true => Ok(()),
                false => Err(Problem::forbidden(
                    Denial::Missing(Right::Admin).to_string(),
                )),
            },
            Self::Anonymous {
                is_local: false,
                needs_token: true,
                may_show,
            } => Err(no_token(*may_show)),
            Self::Anonymous { is_local, .. } => local(*is_local),
        }
    }

    /// Refuses a sender on another machine that may not look into every route.
    pub(in crate::http) fn may_see_all(&self) -> Result<(), Problem> {
        self.has_needed_token()?;
        match self {
            Self::Holder(grant) if grant.allows_everywhere(Right::Admin) => Ok(()),
            Self::Holder(_) => Err(Problem::forbidden(NOT_ADMIN)),
            Self::Anonymous { is_local, .. } => local(*is_local),
        }
    }

    /// Refuses a sender that may not look into the tasks of every route.
    pub(super) fn may_see_tasks(&self) -> Result<(), Problem> {
        self.has_needed_token()?;
        self.may_see_numbers()
    }

    /// Whether it may look into every route.
    pub(super) fn can_see_all(&self) -> bool {
        match self {
            Self::Holder(grant) => grant.allows_everywhere(Right::Admin),
            Self::Anonymous { .. } => true,
        }
    }

    /// Whether it may look into a route.
    pub(super) fn can_see(&self, route: &str) -> bool {
        match self {
            Self::Holder(grant) => grant.allows(Right::Admin, route),
            Self::Anonymous { .. } => true,
        }
    }

    /// The grant of its token.
    pub(super) fn grant(&self) -> Option<&Arc<Grant>> {
        match self {
            Self::Holder(grant) => Some(grant),
            Self::Anonymous { .. } => None,
        }
    }

    /// Whether the server has tokens.
    pub(super) const fn needs_token(&self) -> bool {
        matches!(
            self,
            Self::Holder(_)
                | Self::Anonymous {
                    needs_token: true,
                    ..
                }
        )
    }
}

fn local(is_local: bool) -> Result<(), Problem> {
    match is_local {
        true => Ok(()),
        false => Err(Problem::forbidden(NOT_LOCAL)),
    }
}
