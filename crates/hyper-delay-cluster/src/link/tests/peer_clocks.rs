//! Nodes tell each other the time.

use tokio::io::AsyncWriteExt as _;

use super::fixture::{ByHand, next, node, side, soon};
use crate::link::frame::{self, Frame};
use hyper_delay_engine::clock::Clock;

const HOUR: u64 = 3_600_000_000_000;

/// Answers questions for the time, with one that is off by this much.
async fn answer(mut link: ByHand, ahead: u64) {
    while let Ok(Some(content)) = link.frames.next().await {
        if frame::decode(&content) == Ok(Frame::<()>::ClockRequest) {
            let time = Clock::new().now().wall_nanos + ahead;
            let mut out = Vec::new();
            frame::append(&Frame::<()>::ClockReply(time), &mut out).unwrap();
            link.writer.write_all(&out).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_node_hears_over_its_links_that_its_clock_is_off() {
    let mut node = node("a").await;
    let mut others = Vec::new();
    for name in ["b", "c"] {
        let mut link = ByHand::connect(node.address).await;
        link.call(&side(name)).await.unwrap();
        others.push(tokio::spawn(answer(link, HOUR)));
    }
    assert!(next(&mut node.off).await);
    // Most agree with it now.
    for name in ["d", "e"] {
        let mut link = ByHand::connect(node.address).await;
        link.call(&side(name)).await.unwrap();
        others.push(tokio::spawn(answer(link, 0)));
    }
    assert!(!next(&mut node.off).await);
    others.iter().for_each(|other| other.abort());
}

#[tokio::test]
async fn a_node_answers_with_its_time() {
    let node = node("a").await;
    let mut link = ByHand::connect(node.address).await;
    link.call(&side("b")).await.unwrap();
    let mut out = Vec::new();
    frame::append(&Frame::<()>::ClockRequest, &mut out).unwrap();
    let before = Clock::new().now().wall_nanos;
    link.writer.write_all(&out).await.unwrap();
    let time = soon(async {
        loop {
            let content = link.frames.next().await.unwrap().unwrap();
            if let Frame::ClockReply(time) = frame::decode::<Frame<()>>(&content).unwrap() {
                break time;
            }
        }
    });
    let time = time.await;
    assert!((before..=Clock::new().now().wall_nanos).contains(&time));
}
