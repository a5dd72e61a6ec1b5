use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// The futures of one set, by number.
pub(crate) type Actors = Rc<RefCell<Vec<Actor>>>;

#[derive(Clone, Default)]
pub(crate) struct Actor {
    /// Ready after so many polls in which it wakes itself.
    ready_after: Option<usize>,
    pub(crate) chain: Option<usize>,
    waker: Option<Waker>,
}

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

/// Makes one ready and wakes it, if it was polled before.
pub(crate) fn finish(actors: &Actors, id: usize, polls: usize) {
    actors.borrow_mut()[id].ready_after.get_or_insert(polls);
    wake(actors, id);
}

pub(crate) fn wake(actors: &Actors, id: usize) {
    let waker = actors.borrow()[id].waker.clone();
    waker.into_iter().for_each(Waker::wake);
}
