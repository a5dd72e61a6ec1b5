//! A hedged service where services are: spawned, boxed, with boxed errors.

use std::time::Duration;

use race_tower::{HedgeError, tokio::HedgeLayer};
use tower::{
    BoxError, Service, ServiceBuilder, ServiceExt as _, service_fn,
    util::{BoxCloneService, BoxCloneSyncService},
};

async fn answer(request: &'static str) -> Result<&'static str, BoxError> {
    match request {
        "fail" => Err("refused".into()),
        request => Ok(request),
    }
}

#[tokio::test]
async fn boxed_services_are_spawned() {
    let layer = HedgeLayer::new(Duration::from_millis(50));
    let service = ServiceBuilder::new()
        .map_err(HedgeError::boxed)
        .layer(layer)
        .service(service_fn(answer));
    let boxed: BoxCloneService<_, _, BoxError> = BoxCloneService::new(service.clone());
    let shared: BoxCloneSyncService<_, _, BoxError> = BoxCloneSyncService::new(service);
    let one = tokio::spawn(boxed.oneshot("one"));
    let two = tokio::spawn(shared.oneshot("two"));
    assert_eq!(
        (one.await.unwrap().unwrap(), two.await.unwrap().unwrap()),
        ("one", "two")
    );
}

#[tokio::test]
async fn layer_goes_over_boxed_services() {
    let boxed: BoxCloneService<&'static str, _, BoxError> =
        BoxCloneService::new(service_fn(answer));
    let layer = HedgeLayer::new(Duration::from_millis(50));
    let mut service = ServiceBuilder::new().layer(layer).service(boxed);
    let future = service.ready().await.unwrap().call("one");
    assert_eq!(tokio::spawn(future).await.unwrap().unwrap(), "one");
}

#[derive(Clone, Debug)]
struct Unreachable;

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("client error (Connect)")
    }
}

impl std::error::Error for Unreachable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&std::fmt::Error)
    }
}

#[tokio::test]
async fn question_mark_keeps_the_chain_of_an_error() {
    async fn ask() -> anyhow::Result<()> {
        let layer = HedgeLayer::new(Duration::from_millis(50));
        let service = service_fn(|(): ()| async { Err::<(), _>(Unreachable) });
        let mut service = ServiceBuilder::new().layer(layer).service(service);
        Ok(service.ready().await?.call(()).await?)
    }
    let error = ask().await.unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        format!("client error (Connect): {}", std::fmt::Error)
    );
}

#[tokio::test]
async fn boxed_errors_stay_as_they_are() {
    let layer = HedgeLayer::new(Duration::from_millis(50));
    let service = ServiceBuilder::new()
        .layer(layer)
        .service(service_fn(answer));
    let answer = service.oneshot("fail").await.map_err(HedgeError::boxed);
    assert_eq!(answer.unwrap_err().to_string(), "refused");
}

/// A hedged service in a struct.
#[derive(Clone)]
struct Client {
    service:
        race_tower::tokio::Hedge<BoxCloneService<&'static str, &'static str, BoxError>, Duration>,
}

#[tokio::test]
async fn type_of_a_hedged_service_has_a_name() {
    let inner = BoxCloneService::new(service_fn(answer));
    let layer = HedgeLayer::new(Duration::from_millis(50));
    let client = Client {
        service: ServiceBuilder::new().layer(layer).service(inner),
    };
    let task = tokio::spawn(client.clone().service.oneshot("one"));
    assert_eq!(task.await.unwrap().unwrap(), "one");
}

#[tokio::test]
async fn thread_timer_needs_no_runtime_of_its_own() {
    let layer = race_tower::HedgeLayer::new(Duration::from_millis(5));
    let slow = service_fn(|(): ()| async {
        std::future::pending::<()>().await;
        Ok::<_, std::io::Error>(())
    });
    let service = ServiceBuilder::new()
        .layer(layer.deadline(Duration::from_millis(30)))
        .service(slow);
    let error = service.oneshot(()).await.unwrap_err();
    assert!(matches!(error, HedgeError::Deadline(_)));
}
