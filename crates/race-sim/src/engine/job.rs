use std::{
    any::Any,
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// One attempt of a request, as a server sees it.
pub(crate) struct Job {
    /// The number of its request.
    pub(crate) request: u64,
    pub(crate) server: usize,
    /// How long a server of normal speed works on it.
    pub(crate) work: Duration,
    stage: Cell<Stage>,
    /// How long its server has worked on it, when that is over.
    took: Cell<Duration>,
    /// Whether its client has stopped waiting for it.
    is_abandoned: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// A value that is dropped when the job is over.
    held: RefCell<Option<Box<dyn Any>>>,
    /// The jobs that are tied to each other, itself among them.
    tied: Option<Tied>,
}

/// Jobs of one request, of which one is enough: when one begins, those that wait are cancelled.
pub(crate) type Tied = Rc<RefCell<Vec<Weak<Job>>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Queued,
    Running,
    Answered,
    /// It was stopped before an answer.
    Cancelled,
}

impl Job {
    pub(crate) fn new(request: u64, server: usize, work: Duration, tied: Option<Tied>) -> Rc<Self> {
        let job = Rc::new(Self {
            request,
            server,
            work,
            stage: Cell::new(Stage::Queued),
            took: Cell::new(Duration::ZERO),
            is_abandoned: Cell::new(false),
            waker: RefCell::new(None),
            held: RefCell::new(None),
            tied,
        });
        if let Some(tied) = &job.tied {
            tied.borrow_mut().push(Rc::downgrade(&job));
        }
        job
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.stage.get(), Stage::Answered | Stage::Cancelled)
    }

    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
    }

    pub(crate) fn took(&self) -> Duration {
        self.took.get()
    }

    pub(crate) fn set_took(&self, took: Duration) {
        self.took.set(took);
    }

    /// Returns the other jobs that it is tied to.
    pub(crate) fn others(self: &Rc<Self>) -> Vec<Rc<Self>> {
        let Some(tied) = &self.tied else {
            return Vec::new();
        };
        let tied = tied.borrow();
        let all = tied.iter().filter_map(Weak::upgrade);
        all.filter(|other| !Rc::ptr_eq(self, other)).collect()
    }

    /// Polls for the answer. A job that was cancelled never answers.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.stage.get() == Stage::Answered {
            return Poll::Ready(());
        }
        self.waker.replace(Some(cx.waker().clone()));
        Poll::Pending
    }

    /// Keeps a value until the job is over, or until [`release`](Self::release).
    pub(crate) fn hold(&self, value: Box<dyn Any>) {
        let dropped = match self.is_over() {
            true => Some(value),
            false => self.held.replace(Some(value)),
        };
        drop(dropped);
    }

    /// Drops the value that is held. It can run any code.
    pub(crate) fn release(&self) {
        let held = self.held.take();
        drop(held);
    }

    /// Wakes the client.
    pub(crate) fn wake(&self) {
        let waker = self.waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn abandon(&self) {
        self.is_abandoned.set(true);
        self.waker.take();
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_abandoned.get()
    }
}
