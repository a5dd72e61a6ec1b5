//! A hedged `tower::balance`: the load decides where each attempt goes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use race_tower::tokio::HedgeLayer;
use tower::{
    BoxError, Layer as _, ServiceExt as _,
    balance::p2c::Balance,
    buffer::Buffer,
    discover::ServiceList,
    load::{CompleteOnResponse, PendingRequests},
    service_fn,
    util::BoxService,
};

const REQUESTS: u32 = 40;

/// One of two endpoints hangs. Its requests are pending, so a hedge goes to the other one.
#[tokio::test(start_paused = true)]
async fn hedge_goes_to_the_endpoint_with_less_load() {
    let calls = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    let endpoints = [0, 1].map(|endpoint| {
        let calls = Arc::clone(&calls[endpoint]);
        let service = service_fn(move |_: u32| {
            calls.fetch_add(1, Relaxed);
            async move {
                if endpoint == 0 {
                    std::future::pending::<()>().await;
                }
                Ok::<_, BoxError>(endpoint)
            }
        });
        PendingRequests::new(BoxService::new(service), CompleteOnResponse::default())
    });
    let balance = Balance::new(ServiceList::new::<u32>(endpoints));
    let layer = HedgeLayer::new(Duration::from_millis(50));
    let service = layer.layer(Buffer::new(balance, 8));
    for request in 0..REQUESTS {
        let answer = service.clone().oneshot(request).await;
        assert_eq!(answer.unwrap(), 1, "the other one hangs");
    }
    let [hanging, good] = calls.map(|calls| calls.load(Relaxed));
    assert_eq!(good, REQUESTS, "each is answered once");
    assert!(hanging > 0, "no request was hedged");
    assert!(hanging < REQUESTS, "the load is not regarded");
}
