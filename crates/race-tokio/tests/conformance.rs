//! `TokioTimer` fulfils the contract of `Timer`.

use race_core::test::conformance;
use race_tokio::TokioTimer;

/// Uses up the task's cooperative budget in every poll.
async fn drain_the_budget() {
    loop {
        tokio::task::coop::consume_budget().await;
    }
}

#[tokio::test]
async fn tokio_timer_conforms() {
    conformance::timer(TokioTimer::new).await;
}

#[tokio::test]
async fn clones_are_independent() {
    conformance::clones(TokioTimer::new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokio_timer_conforms_on_many_threads() {
    tokio::spawn(conformance::timer(TokioTimer::new))
        .await
        .expect("the contract holds");
}

#[tokio::test(start_paused = true)]
async fn tokio_timer_conforms_on_a_paused_clock() {
    conformance::timer(TokioTimer::new).await;
}

#[tokio::test]
async fn drained_budget_does_not_starve_the_timer() {
    conformance::fairness(TokioTimer::new, drain_the_budget).await;
}
