use std::sync::Arc;

use super::{Denial, Grant, Tokens, permissions::permits};
use crate::Request;

/// The identity of the peer of a connection, and its grants.
#[derive(Debug)]
pub struct Identity {
    /// Whether tokens are configured. Otherwise everything is permitted.
    is_guarded: bool,
    /// The names in its verified certificate.
    certificate: Vec<String>,
    /// The grant of its last `auth` or of its certificate.
    own: Option<Arc<Grant>>,
    /// Other grants that it has used: tokens in single lines, and those before its last `auth`.
    /// Each once, so that there are at most as many as tokens.
    others: Vec<Arc<Grant>>,
}

/// A grant that the connection has used no longer holds, so that the connection must end.
#[derive(Debug, PartialEq, Eq)]
pub struct Revoked;

impl Identity {
    /// Returns the identity of a peer with a certificate with these names.
    #[must_use]
    pub fn new(tokens: Option<&Tokens>, certificate: Vec<String>) -> Self {
        Self {
            is_guarded: tokens.is_some(),
            own: tokens.and_then(|tokens| tokens.grant_of_certificate(&certificate)),
            certificate,
            others: Vec::new(),
        }
    }

    /// Returns the identity of a peer whose token was checked before. `None`: it needs none.
    #[must_use]
    pub const fn of_grant(grant: Option<Arc<Grant>>) -> Self {
        Self {
            is_guarded: grant.is_some(),
            certificate: Vec::new(),
            own: grant,
            others: Vec::new(),
        }
    }

    /// Returns whether the peer has shown who it is, or need not.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.is_guarded || self.own.is_some() || !self.others.is_empty()
    }

    /// Returns whether the peer needs rights, and what it may do. `None`: everything.
    #[must_use]
    pub const fn guard(&self) -> Option<&Option<Arc<Grant>>> {
        match self.is_guarded {
            true => Some(&self.own),
            false => None,
        }
    }

    /// Replaces the grant of the peer by that of its `auth`.
    pub fn authenticate(&mut self, grant: Arc<Grant>) {
        if let Some(before) = self.own.replace(grant) {
            self.remember(before);
        }
    }

    /// Remembers a grant that the peer has used for one line.
    pub fn remember(&mut self, grant: Arc<Grant>) {
        if self.others.iter().all(|other| other.id != grant.id) {
            self.others.push(grant);
        }
    }

    /// Decides whether the peer may make a request. `lent` is the grant of the token in its line.
    ///
    /// # Errors
    ///
    /// The right that the peer lacks.
    pub fn permits(&self, request: &Request, lent: Option<&Arc<Grant>>) -> Result<(), Denial> {
        if !self.is_guarded {
            return Ok(());
        }
        let grant = lent.or(self.own.as_ref());
        permits(grant.map(|grant| &**grant), &self.others, request)
    }

    /// Takes other tokens into account.
    ///
    /// # Errors
    ///
    /// If the connection must end: it has used a grant that no longer holds, or it was not asked
    /// for a token before.
    pub fn update(&mut self, tokens: Option<&Tokens>) -> Result<(), Revoked> {
        let Some(tokens) = tokens else {
            self.is_guarded = false;
            return Ok(());
        };
        let holds = |grant: &Arc<Grant>| tokens.still_give(grant);
        if !self.is_guarded || !self.own.iter().chain(&self.others).all(holds) {
            return Err(Revoked);
        }
        if self.own.is_none() {
            self.own = tokens.grant_of_certificate(&self.certificate);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::{Right, TokenEntry},
        parse,
        secret::Secret,
    };

    fn entry(name: &str, rights: &[Right], routes: &[&str]) -> (TokenEntry, Secret) {
        let routes = routes.iter().map(|route| (*route).to_owned()).collect();
        TokenEntry::new(name.to_owned(), rights.to_vec(), routes).unwrap()
    }

    fn of_certificate(certificate: &str) -> TokenEntry {
        let all = vec!["*".to_owned()];
        TokenEntry::of_certificate(
            certificate.to_owned(),
            "n".to_owned(),
            vec![Right::Admin],
            all,
        )
        .unwrap()
    }

    fn request(line: &str) -> Request {
        parse(line.as_bytes()).unwrap().request
    }

    const STATS: &str = r#"{"kind":"stats"}"#;

    #[test]
    fn everything_is_permitted_without_tokens() {
        let identity = Identity::new(None, Vec::new());
        assert!(identity.is_known() && identity.guard().is_none());
        assert_eq!(identity.permits(&request(STATS), None), Ok(()));
    }

    #[test]
    fn nothing_is_permitted_before_authentication() {
        let (one, secret) = entry("one", &[Right::Admin], &["*"]);
        let tokens = Tokens::of(&[one]);
        let mut identity = Identity::new(Some(&tokens), Vec::new());
        assert!(!identity.is_known());
        let stats = request(STATS);
        assert_eq!(identity.permits(&stats, None), Err(Denial::NoToken));
        identity.authenticate(tokens.grant(&secret).unwrap());
        assert!(identity.is_known());
        assert_eq!(identity.permits(&stats, None), Ok(()));
    }

    #[test]
    fn token_of_a_line_counts_for_that_line_and_for_answers() {
        let (one, secret) = entry("one", &[Right::Consume], &["mail"]);
        let tokens = Tokens::of(&[one]);
        let grant = tokens.grant(&secret).unwrap();
        let mut identity = Identity::new(Some(&tokens), Vec::new());
        let register = request(r#"{"kind":"register","route_key":"mail"}"#);
        assert_eq!(identity.permits(&register, Some(&grant)), Ok(()));
        identity.remember(grant.clone());
        identity.remember(grant);
        assert_eq!(identity.others.len(), 1);
        assert_eq!(identity.permits(&register, None), Err(Denial::NoToken));
        for line in [
            r#"{"kind":"ack","id":"x"}"#,
            r#"{"kind":"nack","id":"x"}"#,
            r#"{"kind":"unregister","route_key":"mail"}"#,
        ] {
            assert_eq!(identity.permits(&request(line), None), Ok(()), "{line}");
        }
        let other = request(r#"{"kind":"unregister","route_key":"pay"}"#);
        assert!(identity.permits(&other, None).is_err());
    }

    #[test]
    fn a_later_auth_replaces_the_rights_of_the_one_before() {
        let (one, first) = entry("one", &[Right::Schedule, Right::Admin], &["mail"]);
        let (two, second) = entry("two", &[Right::Consume], &["pay"]);
        let tokens = Tokens::of(&[one, two]);
        let mut identity = Identity::new(Some(&tokens), Vec::new());
        let schedule = request(r#"{"kind":"schedule","route_key":"mail","fire_at":0}"#);
        let pause = request(r#"{"kind":"pause","route_key":"mail"}"#);
        let register = request(r#"{"kind":"register","route_key":"pay"}"#);
        let decide = |identity: &Identity| {
            [&schedule, &pause, &register].map(|it| identity.permits(it, None).is_ok())
        };
        identity.authenticate(tokens.grant(&first).unwrap());
        assert_eq!(decide(&identity), [true, true, false]);
        identity.authenticate(tokens.grant(&second).unwrap());
        assert_eq!(decide(&identity), [false, false, true]);
        assert_eq!(identity.guard().unwrap().as_ref().unwrap().name, "two");
        // Back to the first one.
        identity.authenticate(tokens.grant(&first).unwrap());
        assert_eq!(decide(&identity), [true, true, false]);
    }

    #[test]
    fn any_grant_that_no_longer_holds_ends_the_connection() {
        let (one, first) = entry("one", &[Right::Admin], &["*"]);
        let (two, second) = entry("two", &[Right::Admin], &["*"]);
        let both = Tokens::of(&[one.clone(), two.clone()]);
        let mut identity = Identity::new(Some(&both), Vec::new());
        identity.authenticate(both.grant(&first).unwrap());
        identity.authenticate(both.grant(&second).unwrap());
        assert_eq!(identity.update(Some(&both)), Ok(()));
        assert_eq!(identity.update(Some(&Tokens::of(&[one]))), Err(Revoked));
        assert_eq!(identity.update(Some(&Tokens::of(&[two]))), Err(Revoked));
        assert_eq!(identity.update(Some(&both)), Ok(()));
    }

    #[test]
    fn tokens_that_are_turned_on_end_connections_without_one() {
        let tokens = Tokens::of(&[]);
        let mut identity = Identity::new(None, Vec::new());
        assert_eq!(identity.update(None), Ok(()));
        assert_eq!(identity.update(Some(&tokens)), Err(Revoked));
        let mut unknown = Identity::new(Some(&tokens), Vec::new());
        assert_eq!(unknown.update(Some(&tokens)), Ok(()));
        assert!(!unknown.is_known());
        assert_eq!(unknown.update(None), Ok(()));
        assert!(unknown.is_known());
    }

    #[test]
    fn certificate_gives_the_rights_of_its_name() {
        let names = ["other", "billing.internal"].map(String::from).to_vec();
        let tokens = Tokens::of(&[of_certificate("billing.internal")]);
        let mut identity = Identity::new(Some(&tokens), names.clone());
        assert!(identity.is_known());
        assert_eq!(identity.permits(&request(STATS), None), Ok(()));
        let none = Tokens::of(&[of_certificate("billing")]);
        assert_eq!(identity.update(Some(&none)), Err(Revoked));
        let mut unknown = Identity::new(Some(&none), names);
        assert!(!unknown.is_known());
        assert_eq!(unknown.update(Some(&tokens)), Ok(()));
        assert!(unknown.is_known());
    }
}
