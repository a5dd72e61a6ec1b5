use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// The state of the futures of one set, by id.
pub(crate) type Actors = Rc<RefCell<Vec<Actor>>>;

/// What one future does.
#[derive(Clone, Default)]
pub(crate) struct Actor {
    /// The number of polls in which the future wakes itself before it is ready. `None`: never
    /// ready.
    ready_after: Option<usize>,
    /// The future that this one makes ready when it is ready itself.
    pub(crate) chain: Option<usize>,
    waker: Option<Waker>,
}

/// A future that acts as its actor says.
pub(crate) struct Scripted(pub(crate) usize, pub(crate) Actors);

impl Future for Scripted {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        let Self(id, actors) = &*self;
        let mut all = actors.borrow_mut();
        let actor = &mut all[*id];
        actor.waker = Some(cx.waker().clone());
        match &mut actor.ready_after {
            None => return Poll::Pending,
            Some(0) => {}
            Some(polls) => {
                *polls -= 1;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        let chain = actor.chain;
        drop(all);
        chain.into_iter().for_each(|other| finish(actors, other, 0));
        Poll::Ready(*id)
    }
}

/// Makes a future ready after `polls` more polls, and wakes it if it was polled before.
pub(crate) fn finish(actors: &Actors, id: usize, polls: usize) {
    actors.borrow_mut()[id].ready_after.get_or_insert(polls);
    wake(actors, id);
}

pub(crate) fn wake(actors: &Actors, id: usize) {
    let waker = actors.borrow()[id].waker.clone();
    waker.into_iter().for_each(Waker::wake);
}
