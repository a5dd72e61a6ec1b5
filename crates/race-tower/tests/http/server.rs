//! A server whose attempts follow plans, and what each of them saw of its body.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame};
use race_core::test::VirtualClock;
use race_tower::http::{BoxError, ReplayBody, TimeLeft};
use tower::Service;

use crate::{
    body::{Progress, Scripted},
    ms,
};

type Body = ReplayBody<Scripted>;

/// What an attempt does.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The number of frames that it reads.
    pub(crate) frames: usize,
    pub(crate) then: Then,
    /// How long it takes after that.
    pub(crate) wait: u64,
    pub(crate) end: Result<u16, ()>,
}

/// What happens to the body after the frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Then {
    Drop,
    /// It is dropped when the attempt ends.
    Keep,
    /// It outlives the attempt, as in the task of a connection.
    Leak,
}

impl Plan {
    pub(crate) const ALL: usize = usize::MAX;

    /// Reads the whole body and answers after `wait`.
    pub(crate) fn answers(status: u16, wait: u64) -> Self {
        Self {
            frames: Self::ALL,
            then: Then::Drop,
            wait,
            end: Ok(status),
        }
    }
}

/// What an attempt saw.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: u64,
    pub(crate) time_left: Option<Duration>,
    /// What was read of the original when the attempt started.
    pub(crate) progress: Progress,
    /// The earlier attempts that still ran then, with their bodies.
    pub(crate) alive: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
    pub(crate) has_ended: bool,
    pub(crate) error: Option<String>,
    /// It runs and has its body.
    is_alive: bool,
    is_running: bool,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) clock: VirtualClock,
    plans: Arc<[Plan]>,
    progress: Arc<Mutex<Progress>>,
    world: Arc<Mutex<World>>,
}

#[derive(Default)]
pub(crate) struct World {
    pub(crate) seen: Vec<Seen>,
    leaked: Vec<(usize, Pin<Box<Body>>)>,
}

impl Server {
    pub(crate) fn new(
        clock: &VirtualClock,
        plans: &[Plan],
        progress: Arc<Mutex<Progress>>,
    ) -> Self {
        Self {
            clock: clock.clone(),
            plans: plans.into(),
            progress,
            world: Arc::default(),
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.lock().unwrap().clone()
    }

    pub(crate) fn is_alive(&self, index: usize) -> bool {
        self.world().seen[index].is_alive
    }

    pub(crate) fn is_running(&self, index: usize) -> bool {
        self.world().seen[index].is_running
    }

    pub(crate) fn drop_leaked(&self) {
        let leaked = std::mem::take(&mut self.world().leaked);
        drop(leaked);
    }

    fn begin(&self, request: &Request<Body>) -> usize {
        let mut world = self.world();
        let alive = world.seen.iter().enumerate();
        let alive = alive.filter(|(_, it)| it.is_alive).map(|(index, _)| index);
        let seen = Seen {
            at: self.clock.now().as_nanos() / 1_000_000,
            time_left: request.extensions().get().map(|&TimeLeft(left)| left),
            progress: self.progress(),
            alive: alive.collect(),
            bytes: Vec::new(),
            trailers: None,
            has_ended: false,
            error: None,
            is_alive: true,
            is_running: true,
        };
        world.seen.push(seen);
        world.seen.len() - 1
    }

    /// What was leaked reads further whenever another attempt reads.
    fn poll_leaked(&self) {
        let mut leaked = std::mem::take(&mut self.world().leaked);
        for (index, body) in &mut leaked {
            let polled = body
                .as_mut()
                .poll_frame(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(frame) = polled {
                self.world().seen[*index].note(frame);
            }
        }
        self.world().leaked.append(&mut leaked);
    }

    /// Reads what was leaked to its end.
    pub(crate) async fn finish_leaked(&self) {
        let leaked = std::mem::take(&mut self.world().leaked);
        for (index, mut body) in leaked {
            while !self.world().seen[index].has_ended {
                let frame = poll_fn(|cx| body.as_mut().poll_frame(cx)).await;
                self.world().seen[index].note(frame);
            }
        }
    }

    async fn attempt(self, index: usize, mut body: Pin<Box<Body>>) -> Result<Response<()>, ()> {
        let plan = self.plans[index.min(self.plans.len() - 1)].clone();
        let alive = Alive(self.clone(), index);
        for _ in 0..plan.frames {
            let frame = poll_fn(|cx| {
                self.poll_leaked();
                let (hint, is_end) = (body.size_hint(), body.is_end_stream());
                let polled = body.as_mut().poll_frame(cx);
                if let Poll::Ready(frame) = &polled {
                    let data = frame.as_ref().and_then(|it| it.as_ref().ok()?.data_ref());
                    let len = data.map_or(0, Bytes::len) as u64;
                    assert!(hint.upper().is_none_or(|upper| len <= upper), "{hint:?}");
                    assert!(!is_end || frame.is_none(), "it said that it has ended");
                    assert!(frame.is_some() || hint.lower() == 0, "{hint:?}");
                }
                polled
            });
            let frame = frame.await;
            let is_over = !matches!(frame, Some(Ok(_)));
            self.world().seen[index].note(frame);
            if is_over {
                break;
            }
        }
        let mut kept = None;
        match plan.then {
            Then::Drop => {
                drop(body);
                self.world().seen[index].is_alive = false;
            }
            Then::Keep => kept = Some(body),
            Then::Leak => self.world().leaked.push((index, body)),
        }
        match plan.wait {
            u64::MAX => std::future::pending().await,
            wait => self.clock.sleep(ms(wait)).await,
        }
        drop((kept, alive));
        plan.end.map(|status| {
            let answer = Response::builder().status(status);
            answer.body(()).unwrap()
        })
    }
}

impl Seen {
    fn note(&mut self, frame: Option<Result<Frame<Bytes>, BoxError>>) {
        match frame {
            None => self.has_ended = true,
            Some(Err(error)) => self.error = Some(error.to_string()),
            Some(Ok(frame)) => {
                assert!(!self.has_ended && self.error.is_none());
                assert!(self.trailers.is_none(), "nothing follows trailers");
                match frame.into_data() {
                    Ok(data) => self.bytes.extend_from_slice(&data),
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                }
            }
        }
    }
}

/// Notes the end of an attempt.
struct Alive(Server, usize);

impl Drop for Alive {
    fn drop(&mut self) {
        let seen = &mut self.0.world().seen[self.1];
        (seen.is_alive, seen.is_running) = (false, false);
    }
}

impl Service<Request<Body>> for Server {
    type Response = Response<()>;
    type Error = ();
    type Future = Pin<Box<dyn Future<Output = Result<Response<()>, ()>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let index = self.begin(&request);
        Box::pin(self.clone().attempt(index, Box::pin(request.into_body())))
    }
}
