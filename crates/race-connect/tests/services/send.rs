//! Futures of connections can be spawned.

use std::{future::Future, io, sync::Arc};

use race_connect::{
    Destination, HappyEyeballs, smol,
    tokio::Connector,
    tokio::TokioTimer,
    v3::{Discovery, Lookup, Origin, Query, Records},
};

#[derive(Clone)]
struct Nothing;

impl Lookup for Nothing {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        Ok(query.kind.none())
    }
}

fn assert_send<F: Future + Send>(future: F) -> F {
    future
}

async fn dial(_: Destination) -> io::Result<()> {
    Ok(())
}

/// The futures are polled too, so that the resolver is asked.
#[tokio::test]
async fn futures_of_send_parts_are_send() {
    let origin = Origin::https("a.test", 443);
    let discovery = Discovery::new(Arc::new(Nothing));
    let settings = HappyEyeballs::new();
    let race = settings.race_endpoints(TokioTimer::new(), &discovery, &origin, dial);
    assert!(assert_send(race).await.is_err());

    let connector = Connector::new(settings.clone()).resolver(discovery.clone());
    assert!(assert_send(connector.connect_to(&origin)).await.is_err());
    assert!(assert_send(connector.connect("a.test", 1)).await.is_err());
    let connector = Connector::new(settings.clone()).resolver(Discovery::new(&Nothing));
    assert!(assert_send(connector.connect_to(&origin)).await.is_err());
    let connector = smol::Connector::new(settings).resolver(discovery);
    drop(assert_send(connector.connect_to(&origin)));
}

#[tokio::test]
async fn connection_can_be_spawned() {
    let connector = Connector::new(HappyEyeballs::new()).resolver(Discovery::new(Nothing));
    let connected = tokio::spawn(async move { connector.connect("a.test", 1).await });
    let error = connected.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "a.test:1 has no addresses");
}
