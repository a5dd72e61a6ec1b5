//! A service that is ready holds a place of a queue or a limit. A hedge that does not start must not
//! keep one.

use std::{future::Future, pin::pin, sync::Arc, task::Context};

use race_core::{Budget, Verdict};
use race_tower::{FnRules, Replicas};
use tower::{Layer as _, Service, ServiceExt as _, buffer::Buffer, limit::ConcurrencyLimit};

use crate::server::{Answer, HANGS, Server, ask, millis, ms};

/// Calls a service once it is ready, and polls the answer once, so that the attempt starts.
fn begin<S: Service<String>>(server: &Server, service: &mut S) -> S::Future
where
    S::Future: Unpin,
{
    let ready = async { service.ready().await.is_ok() };
    assert!(server.clock.run(ready).unwrap());
    let mut answer = service.call("hangs".to_owned());
    poll(&mut answer);
    answer
}

fn poll<F: Future + Unpin>(future: &mut F) {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(pin!(future).poll(&mut cx).is_pending());
}

#[test]
fn hedge_that_the_budget_refuses_gives_its_place_back() {
    let hanging = [(HANGS, Ok("")); 1];
    let server = Server::new(hanging.into_iter().chain([(10, Ok("answer"))]));
    let limited = ConcurrencyLimit::new(server.clone(), 2);
    let layer = server.layer(ms(50)).budget(Arc::new(Budget::percent(0)));
    let mut service = layer.layer(limited);
    let mut hangs = Box::pin(begin(&server, &mut service));
    server.clock.advance(ms(60));
    poll(&mut hangs); // the hedge is due and refused
    assert_eq!(ask(&server.clock, &mut service, "quick").unwrap(), "answer");
    assert_eq!((server.calls(), millis(&server.clock)), (vec![0, 60], 70));
}

#[test]
fn hedges_that_are_refused_leave_the_places_of_a_queue_to_others() {
    let hanging = [(HANGS, Ok("")); 5];
    let server = Server::new(hanging.into_iter().chain([(10, Ok("answer"))]));
    // Five requests hang, and the queue has places for five more.
    let (buffered, worker) = Buffer::pair(ConcurrencyLimit::new(server.clone(), 6), 10);
    let mut worker = Box::pin(worker);
    let layer = server.layer(ms(50)).budget(Arc::new(Budget::percent(0)));
    let mut service = layer.layer(buffered);
    let mut hanging: Vec<_> = (0..5)
        .map(|_| {
            let answer = Box::pin(begin(&server, &mut service));
            poll(&mut worker);
            answer
        })
        .collect();
    server.clock.advance(ms(60));
    for answer in &mut hanging {
        poll(answer);
    }
    let answer = async {
        let ready = service.ready().await.map_err(|error| error.to_string())?;
        let answer = ready.call("quick".to_owned());
        answer.await.map_err(|error| error.to_string())
    };
    let both = async {
        tokio::select! {
            answer = answer => answer,
            () = &mut worker => Err("the worker ended".to_owned()),
        }
    };
    assert_eq!(server.clock.run(both).unwrap(), Ok("answer"));
    assert_eq!(millis(&server.clock), 70);
}

/// A hedge waits for a place when the first attempt fails with a pushback.
#[test]
fn wait_for_a_place_ends_when_the_start_moves_away() {
    let answers = [(HANGS, Ok("")), (60, Err("busy")), (10, Ok("third"))];
    let server = Server::new(answers);
    let limited = ConcurrencyLimit::new(server.clone(), 2);
    let mut third = limited.clone();
    let _hangs = begin(&server, &mut limited.clone());
    let rules = FnRules::new(
        |request: &String| Some(request.clone()),
        |answer: &Answer| match answer {
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::NotBefore(ms(500)),
        },
    );
    let mut service = server.layer(ms(50)).rules(rules).layer(limited);
    let mut hedged = Box::pin(begin(&server, &mut service));
    poll(&mut hedged);
    server.clock.advance(ms(55));
    poll(&mut hedged); // the hedge waits for a place
    server.clock.advance(ms(5));
    poll(&mut hedged); // the first attempt has failed
    assert_eq!(ask(&server.clock, &mut third, "third"), Ok("third"));
    assert_eq!(
        (server.calls(), millis(&server.clock)),
        (vec![0, 0, 60], 70)
    );
}

#[test]
fn replica_whose_attempt_did_not_start_is_next_again() {
    let one = Server::new([(60, Err("busy"))]);
    let two = Server::with_clock(&one.clock, [(10, Ok("two"))]);
    let layer = one.layer(ms(50)).budget(Arc::new(Budget::percent(0)));
    let mut service = layer.over(Replicas::new([one.clone(), two.clone()]));
    // The hedge on the second replica is refused at 50, and the failure at 60 starts it.
    assert_eq!(ask(&one.clock, &mut service, "request").unwrap(), "two");
    assert_eq!((one.calls(), two.calls()), (vec![0], vec![60]));
}
