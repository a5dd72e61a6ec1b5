//! What the tests of the scheduler look at.

use std::{mem, sync::Arc};

use race_wheel::Tick;

use super::{SingleServer, pending_requests::ReplyAction};
use crate::{
    clock::Now,
    front::{ClientRequest, ConsumerMessage, Front, FrontInput, ReplyTo},
    scheduler::{
        ConsumerId, CreditChange, NextCall, RequestNumber, Scheduler, SchedulerInput,
        SchedulerSettings,
    },
};
use hyper_delay_config::Config;
use hyper_delay_protocol::{RegisterMode, Reply, TaskRequest};
use hyper_delay_store::{Store, fake::Fake};

impl<S: Store> SingleServer<S> {
    pub(crate) const fn scheduler(&self) -> &Scheduler<S> {
        &self.scheduler
    }

    pub(crate) const fn front(&self) -> &Front<()> {
        &self.front
    }

    pub(crate) const fn front_mut(&mut self) -> &mut Front<()> {
        &mut self.front
    }

    /// Handles an input that comes from a cluster, or the committer.
    pub(crate) fn lead(&mut self, input: SchedulerInput, now: Now) {
        self.now = now;
        self.scheduler.handle(input, now);
        self.pass_messages();
    }

    /// Another scheduler leads, with the front of before.
    pub(crate) fn keep_front(&mut self, before: Self) {
        self.front = before.front;
    }

    /// Returns the number of a request of a connection.
    pub(crate) fn request_number(&mut self, consumer: ConsumerId) -> RequestNumber {
        let to = ReplyTo {
            consumer,
            tag: None,
            weight: 1,
        };
        self.pending.add(to, ReplyAction::ReplyOnly).number
    }

    pub(crate) fn tick_scheduler(&mut self, now: Now) -> NextCall {
        self.scheduler.tick(now)
    }

    pub(crate) fn take_credit_changes(&mut self) -> Vec<(ConsumerId, CreditChange)> {
        mem::take(&mut self.credit_changes)
    }
}

/// Requests that come together are answered in their order, whether the front or the scheduler does.
#[test]
fn replies_without_the_disk_keep_the_order_of_the_requests() {
    let now = Now {
        wall_nanos: 0,
        monotonic: Tick::ZERO,
    };
    let settings = SchedulerSettings::from(Arc::new(Config::default()));
    let scheduler = Scheduler::new(Arc::new(Fake::default()), settings, 0, now);
    let mut server = SingleServer::new(scheduler, now);
    server.handle(FrontInput::Opened(1), now);
    let register = |route: &str| TaskRequest::Register {
        route: route.into(),
        credit: None,
        mode: RegisterMode::Shared,
        accept: None,
    };
    let unregister = TaskRequest::Unregister { route: "a".into() };
    let requests = [
        register("a"),
        TaskRequest::Ping,
        unregister,
        TaskRequest::Ping,
        register("b"),
    ];
    let requests = requests.map(|request| ClientRequest {
        tag: None,
        request,
        weight: 1,
        grant: None,
    });
    server.handle(FrontInput::Requested(1, requests.into()), now);
    let messages = server.take_effects().messages.into_iter();
    let kinds: Vec<&str> = messages
        .map(|(_, message)| match message {
            ConsumerMessage::Reply { reply, .. } => match reply {
                Reply::Registered { .. } => "registered",
                Reply::Unregistered { .. } => "unregistered",
                Reply::Pong => "pong",
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = ["registered", "pong", "unregistered", "pong", "registered"];
    assert_eq!(kinds, expected);
}
