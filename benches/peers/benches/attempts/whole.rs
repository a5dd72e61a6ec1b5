//! A whole race of three candidates; the first is ready at once.

use std::{
    future::{Ready, poll_fn, ready},
    hint::black_box,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt, stream::FuturesUnordered};
use race_core::InlineRace;
use race_tokio::TokioTimer;

use crate::{
    future::parent,
    heap::allocations,
    table::{Contender, Side, compare, contender},
};

const DELAY: Duration = Duration::from_millis(50);

type Attempt = Ready<Result<u64, std::fmt::Error>>;

fn attempts() -> [Attempt; 3] {
    black_box([ready(Ok(1)), ready(Ok(2)), ready(Ok(3))])
}

pub(crate) fn three_of_which_the_first_is_ready() {
    let all: [(&'static str, Side, fn()); 7] = [
        ("race-tokio Race", Side::Ours, ours),
        ("race-core InlineRace, no allocator", Side::Ours, inline),
        ("race 0.1.15, delay 50 ms", Side::Peer, original),
        ("tower hedge (two candidates)", Side::Peer, hedge),
        ("FuturesUnordered and an interval", Side::Peer, interval),
        ("tokio::select!, biased", Side::Reference, select),
        ("bound: staggered by hand", Side::Reference, by_hand),
    ];
    compare(
        "three candidates, the first is ready at once",
        1,
        all.iter()
            .map(|(name, side, run)| timed(name, *side, *run))
            .collect(),
    );
    println!("  allocations:");
    for (name, _, run) in all {
        run();
        println!("    {name:<44} {:>8}", allocations(run));
    }
}

fn timed(name: &'static str, side: Side, run: fn()) -> Contender<'static> {
    contender(name, side, move |turns| {
        for _ in 0..turns {
            black_box(run)(); // hides the function from the optimizer
        }
    })
}

fn once<F: Future>(future: F) -> F::Output {
    let waker = parent();
    match pin!(future).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("it is ready at once"),
    }
}

fn ours() {
    let mut race = race_tokio::Race::of(DELAY, attempts());
    assert!(matches!(once(race.next()), Some((0, Ok(1)))));
}

fn inline() {
    let race = InlineRace::<3, _, _>::at(TokioTimer::new()).of(DELAY, attempts());
    let mut race = pin!(race);
    assert!(matches!(once(race.as_mut().next()), Some((0, Ok(1)))));
}

fn original() {
    let mut race = race_0_1::Race::new(
        DELAY,
        |value: &u64| ready(Ok::<_, std::fmt::Error>(*value)),
        1..4,
    );
    assert!(matches!(once(race.next()), Some((1, Ok(1)))));
}

fn interval() {
    let mut attempts = attempts().into_iter();
    let mut running: FuturesUnordered<_> = attempts.next().into_iter().collect();
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + DELAY, DELAY);
    let won = once(poll_fn(|cx| {
        loop {
            if let Poll::Ready(Some(won)) = Pin::new(&mut running).poll_next(cx) {
                return Poll::Ready(won);
            }
            if attempts.len() == 0 || ticks.poll_tick(cx).is_pending() {
                return Poll::Pending;
            }
            running.extend(attempts.next());
        }
    }));
    assert_eq!(won, Ok(1));
}

fn select() {
    let [mut first, mut second, mut third] = attempts();
    let won = once(async {
        tokio::select! {
            biased;
            won = &mut first => won,
            won = &mut second => won,
            won = &mut third => won,
        }
    });
    assert_eq!(won, Ok(1));
}

/// A minimal staggered start: it reads the clock when the first attempt is pending.
fn by_hand() {
    let mut attempts = attempts();
    let (mut started, mut due) = (1, None);
    let won = once(poll_fn(|cx| {
        for attempt in &mut attempts[..started] {
            if let Poll::Ready(won) = Pin::new(attempt).poll(cx) {
                return Poll::Ready(won);
            }
        }
        let now = std::time::Instant::now();
        if *due.get_or_insert(now + DELAY) <= now && started < 3 {
            started += 1;
            due = Some(now + DELAY);
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }));
    assert_eq!(won, Ok(1));
}

/// tower's hedge with a service that is ready at once.
fn hedge() {
    use tower::{
        Service,
        hedge::{Hedge, Policy},
    };

    #[derive(Clone)]
    struct Twice;

    impl Policy<u64> for Twice {
        fn clone_request(&self, request: &u64) -> Option<u64> {
            Some(*request)
        }

        fn can_retry(&self, _: &u64) -> bool {
            true
        }
    }

    thread_local! {
        static SERVICE: std::cell::RefCell<Hedged> = std::cell::RefCell::new(new());
    }

    type Hedged = Hedge<tower::util::ServiceFn<fn(u64) -> Attempt>, Twice>;

    fn new() -> Hedged {
        let answer: fn(u64) -> Attempt = |value| ready(Ok(value));
        Hedge::new(
            tower::service_fn(answer),
            Twice,
            10,
            0.9,
            Duration::from_secs(60),
        )
    }

    SERVICE.with_borrow_mut(|service| {
        let won = once(async {
            poll_fn(|cx| service.poll_ready(cx)).await.map_err(drop)?;
            service.call(1).await.map_err(drop)
        });
        assert_eq!(won, Ok::<_, ()>(1));
    });
}
