use std::{
    io,
    sync::{Arc, Mutex},
};

use super::*;
use crate::{ConnectFailure, tokio::Connector};

/// Records the names that it is asked for, and knows none.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<Vec<String>>>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str, _: u16) -> impl Stream<Item = Answer> + Send + 'a {
        self.0.lock().unwrap().push(host.to_owned());
        futures::stream::empty()
    }
}

/// Returns the text of the error, and the names that the resolver was asked for.
async fn connect(host: &str) -> (String, Vec<String>) {
    let names = Names::default();
    let connector = Connector::default().resolver(names.clone());
    let connected = connector.connect(host, 1).await;
    let asked = std::mem::take(&mut *names.0.lock().unwrap());
    let error = connected.err().map(|error| error.to_string());
    (error.unwrap_or_default(), asked)
}

#[tokio::test]
async fn names_are_resolved_by_the_given_resolver() {
    for name in ["a.test", "a%b", "1.2.3.4.", "[a.test]", "::1]", " ", "a\0b"] {
        let (error, asked) = connect(name).await;
        assert_eq!(asked, [name]);
        assert!(error.contains(&*name.escape_debug().to_string()), "{error}");
        assert!(error.ends_with("has no addresses"), "{error}");
    }
}

#[tokio::test]
async fn addresses_are_not_resolved() {
    for address in ["127.0.0.1", "::1", "[::1]", "::ffff:127.0.0.1"] {
        let (error, asked) = connect(address).await;
        assert!(asked.is_empty(), "{asked:?}");
        assert!(
            error.is_empty() || error.starts_with("cannot connect to "),
            "{error}"
        );
    }
}

#[tokio::test]
async fn hosts_are_named_with_their_port() {
    let (error, _) = connect("a.test").await;
    assert!(error.starts_with("a.test:1 "), "{error}");
    let (error, _) = connect("[::1]").await;
    assert!(
        error.is_empty() || error.starts_with("cannot connect to [::1]:1: "),
        "{error}"
    );
}

#[tokio::test]
async fn empty_host_is_an_error() {
    let connector = Connector::default();
    let error = connector.connect("", 1).await.unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::NotResolved);
    assert!(error.to_string().contains("the name of the host is empty"));
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidInput);
    assert!(connect("").await.1.is_empty());
}
