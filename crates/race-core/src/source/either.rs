use core::{
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

pin_project! {
    /// One of two futures with the same output.
    ///
    /// The attempts of a race of a tuple have this type: those of `(a, b, c)` are
    /// `Either<A, Either<B, C>>`.
    #[derive(Clone, Debug)]
    pub struct Either<A, B> {
        #[pin]
        side: Side<A, B>,
    }
}

pin_project! {
    #[derive(Clone, Debug)]
    #[project = Projected]
    enum Side<A, B> {
        Left {
            #[pin]
            future: A,
        },
        Right {
            #[pin]
            future: B,
        },
    }
}

impl<A, B> Either<A, B> {
    pub(super) fn left(future: A) -> Self {
        let side = Side::Left { future };
        Self { side }
    }

    pub(super) fn right(future: B) -> Self {
        let side = Side::Right { future };
        Self { side }
    }
}

impl<A: Future, B: Future<Output = A::Output>> Future for Either<A, B> {
    type Output = A::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<A::Output> {
        match self.project().side.project() {
            Projected::Left { future } => future.poll(cx),
            Projected::Right { future } => future.poll(cx),
        }
    }
}
