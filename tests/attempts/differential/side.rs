use std::{
    collections::BTreeSet,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures::{Stream, StreamExt};

use super::{
    Act,
    actor::{Actor, Actors, Scripted, finish, wake},
};
use crate::task::Parent;

/// One of the two sets that are compared.
pub(crate) struct Side<S> {
    pub(crate) set: S,
    /// Pushes a future with its id.
    push: fn(&mut S, usize, Scripted),
    pub(crate) actors: Actors,
    parent: Arc<Parent>,
    pub(crate) living: BTreeSet<usize>,
}

impl<S: Stream<Item = usize> + Unpin> Side<S> {
    pub(crate) fn new(set: S, push: fn(&mut S, usize, Scripted)) -> Self {
        let (actors, parent, living) = (Rc::default(), Parent::new(), BTreeSet::new());
        Self {
            set,
            push,
            actors,
            parent,
            living,
        }
    }

    pub(crate) fn act(&mut self, act: &Act) {
        let count = self.actors.borrow().len();
        match act {
            Act::Push(more) => (count..count + more).for_each(|id| {
                self.actors.borrow_mut().push(Actor::default());
                (self.push)(&mut self.set, id, Scripted(id, self.actors.clone()));
                self.living.insert(id);
            }),
            Act::Wake(one) => wake(&self.actors, one.index(count)),
            Act::WakeEvery(step) => (0..count)
                .step_by(*step)
                .for_each(|id| wake(&self.actors, id)),
            Act::Finish(one) => finish(&self.actors, one.index(count), 0),
            Act::FinishEvery(step) => {
                (0..count)
                    .step_by(*step)
                    .for_each(|id| finish(&self.actors, id, 0));
            }
            Act::FinishAfter(one, polls) => finish(&self.actors, one.index(count), *polls),
            Act::Chain(one, other) => {
                self.actors.borrow_mut()[one.index(count)].chain = Some(other.index(count));
            }
        }
    }

    /// Polls until the set is pending and has not woken its task. Returns the ids that finished.
    pub(crate) fn drain(&mut self) -> BTreeSet<usize> {
        let waker = Waker::from(self.parent.clone());
        let mut out = BTreeSet::new();
        loop {
            let before = self.parent.wakes();
            match self.set.poll_next_unpin(&mut Context::from_waker(&waker)) {
                Poll::Ready(Some(id)) => {
                    assert!(
                        out.insert(id) && self.living.remove(&id),
                        "#{id} finished twice"
                    );
                }
                Poll::Ready(None) => return out,
                Poll::Pending if self.parent.wakes() == before => return out,
                Poll::Pending => {}
            }
        }
    }
}
