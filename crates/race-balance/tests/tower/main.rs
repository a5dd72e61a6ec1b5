//! Balanced services under a layer of `race-tower`.
#![cfg(feature = "tower")]

mod readiness;
mod rules;
mod server;

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use race_balance::{Balance, Balanced, Slot};
use server::{MS, World, ask};
use tower::{Service, ServiceExt as _, service_fn};

#[test]
fn each_attempt_goes_to_another_server() {
    let world = World::<4>::new(1_000 * MS);
    assert!(ask(&world.clock, &mut world.service(4)).is_ok());
    assert_eq!(world.calls(), [1; 4]);
    let mut starts: Vec<_> = (0..4).map(|server| world.state(server).calls[0]).collect();
    starts.sort_unstable();
    assert_eq!(starts, [0, 50, 100, 150].map(|millis| millis * MS));
    assert_eq!(world.in_flight(), 0);
}

#[test]
fn requests_go_to_the_server_that_was_fast() {
    let world = World::<2>::new(5 * MS);
    world.state(0).latency = 40 * MS;
    let mut service = world.service(2);
    for _ in 0..40 {
        ask(&world.clock, &mut service.clone()).unwrap();
        ask(&world.clock, &mut service).unwrap();
    }
    let [slow, fast] = world.calls();
    assert!(slow <= 2 && slow + fast == 80, "{slow} {fast}");
}

#[test]
fn hedge_goes_to_the_other_server() {
    let world = World::<2>::new(10 * MS);
    world.state(0).latency = 500 * MS;
    // With an attempt in flight at the other one, the slow one is first.
    let targets = world.balance.targets();
    let mut busy = vec![targets.pick(), targets.pick()];
    busy.retain(|lease| *lease.endpoint().key() == 1);
    assert_eq!(ask(&world.clock, &mut world.service(2)).unwrap(), 1);
    assert_eq!(world.clock.elapsed(), 60 * MS);
    assert_eq!(world.calls(), [1, 1]);
    drop(busy);
    assert_eq!(world.in_flight(), 0);
}

#[test]
fn attempts_go_round_if_there_are_more_than_servers() {
    let world = World::<2>::new(1_000 * MS);
    for _ in 0..5 {
        let _ = ask(&world.clock, &mut world.service(4));
    }
    let mut calls: Vec<_> = (0..2)
        .flat_map(|server| {
            world
                .state(server)
                .calls
                .iter()
                .map(|at| (*at, server))
                .collect::<Vec<_>>()
        })
        .collect();
    calls.sort_unstable();
    for request in calls.chunks(4) {
        let servers: Vec<_> = request.iter().map(|(_, server)| *server).collect();
        assert!(
            servers.windows(2).all(|pair| pair[0] != pair[1]),
            "{servers:?}"
        );
    }
}

#[test]
fn only_server_gets_the_hedge_too() {
    let world = World::<1>::new(80 * MS);
    assert!(ask(&world.clock, &mut world.service(2)).is_ok());
    assert_eq!(world.calls(), [2]);
}

#[test]
fn servers_are_replaced_also_for_a_service_that_waits_for_the_old_ones() {
    let world = World::<2>::new(5 * MS);
    world.state(0).ready = Poll::Pending;
    let slot = |server: usize| Slot::new(server, world.servers[server].clone());
    world.balance.replace([slot(0)]).unwrap();
    let mut service = world.service(2);
    let body = async {
        let is_pending = poll_fn(|cx| Poll::Ready(service.poll_ready(cx).is_pending())).await;
        assert!(is_pending);
        world.balance.replace([slot(1)]).unwrap();
        service.ready().await.unwrap().call("a").await
    };
    assert_eq!(world.clock.run(Box::pin(body)).unwrap().unwrap(), 1);
}

#[test]
fn server_that_fails_at_once_gets_few_requests() {
    let world = World::<2>::new(5 * MS);
    world.state(0).answer = Err("refused");
    world.state(0).latency = Duration::ZERO;
    let mut service = world.service(2);
    for _ in 0..100 {
        let _ = ask(&world.clock, &mut service);
    }
    let [failing, _] = world.calls();
    assert!(failing <= 2, "{failing}");
}

#[test]
fn server_that_is_not_ready_is_passed_over() {
    let world = World::<3>::new(5 * MS);
    world.state(0).ready = Poll::Pending;
    world.state(1).ready = Poll::Ready(Err("closed"));
    let mut service = world.service(2);
    for _ in 0..20 {
        assert_eq!(ask(&world.clock, &mut service).unwrap(), 2);
    }
    assert_eq!(world.calls(), [0, 0, 20]);
}

#[test]
fn readiness_fails_if_that_of_all_servers_does() {
    let world = World::<3>::new(5 * MS);
    for server in 0..3 {
        world.state(server).ready = Poll::Ready(Err("closed"));
    }
    let mut service = world.service(2);
    assert_eq!(
        ask(&world.clock, &mut service).unwrap_err().to_string(),
        "closed"
    );
    for server in 0..3 {
        world.state(server).ready = Poll::Ready(Ok(()));
    }
    assert!(ask(&world.clock, &mut service).is_ok());
}

#[test]
fn nothing_is_in_flight_before_the_call_and_after_a_dropped_request() {
    let world = World::<2>::new(500 * MS);
    let mut service = world.service(2);
    let body = async {
        service.ready().await.unwrap();
        assert_eq!(world.in_flight(), 0);
        let mut answer = service.call("a");
        poll_fn(|cx| Poll::Ready(Pin::new(&mut answer).poll(cx).is_ready())).await;
        assert_eq!(world.in_flight(), 1);
        world.clock.sleep(100 * MS).await;
        poll_fn(|cx| Poll::Ready(Pin::new(&mut answer).poll(cx).is_ready())).await;
        assert_eq!(world.in_flight(), 2);
        drop(answer);
        assert_eq!(world.in_flight(), 0);
    };
    world.clock.run(Box::pin(body)).unwrap();
}

#[tokio::test]
async fn request_can_be_spawned() {
    let echo = service_fn(async |request: u32| Ok::<_, std::io::Error>(request));
    let balance = Balance::new([Slot::new("one", echo)]);
    let service = race_tower::HedgeLayer::new(MS).over(Balanced::new(balance));
    let answer = tokio::spawn(service.oneshot(7));
    assert_eq!(answer.await.unwrap().unwrap(), 7);
}
