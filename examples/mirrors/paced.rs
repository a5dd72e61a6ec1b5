//! A connection that yields regularly and limits the data before its answer.

use std::{
    cell::Cell,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The number of bytes that are read before the connection yields.
const TURN: usize = 64 << 10;
/// The limit before the answer: TLS handshake, and responses such as `103 Early Hints`.
const PREAMBLE: usize = 256 << 10;

/// Reads in turns, and a limited amount before the answer.
///
/// A mirror that never pauses can be read without end in one poll, as hyper does until it has the
/// final head. The other attempts and the timeout share the task and would never run.
pub(crate) struct Paced<T> {
    io: T,
    /// The bytes left in this turn. A turn also ends when no data is available.
    turn: usize,
    preamble: usize,
    answered: Rc<Cell<bool>>,
}

impl<T> Paced<T> {
    /// The reader sets `answered` when it has the answer.
    pub(crate) fn new(io: T, answered: Rc<Cell<bool>>) -> Self {
        Self {
            io,
            turn: TURN,
            preamble: PREAMBLE,
            answered,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Paced<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.turn == 0 {
            this.turn = TURN;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut most = this.turn.min(buf.remaining());
        if !this.answered.get() {
            if this.preamble == 0 {
                let error = format!("no answer within the first {} KiB", PREAMBLE >> 10);
                return Poll::Ready(Err(io::Error::other(error)));
            }
            most = most.min(this.preamble);
        }
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
        let Poll::Ready(read) = Pin::new(&mut this.io).poll_read(cx, &mut part) else {
            this.turn = TURN;
            return Poll::Pending;
        };
        let length = part.filled().len();
        buf.advance(length);
        this.turn -= length;
        this.preamble = this.preamble.saturating_sub(length);
        Poll::Ready(read)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Paced<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Wake, Waker},
    };

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reads until nothing is read. Returns the number of bytes and the last result.
    fn read(io: &mut Paced<&[u8]>, cx: &mut Context<'_>) -> (usize, Poll<io::Result<()>>) {
        let mut total = 0;
        loop {
            let mut bytes = [0; 3_000];
            let mut buf = ReadBuf::new(&mut bytes);
            let polled = Pin::new(&mut *io).poll_read(cx, &mut buf);
            total += buf.filled().len();
            if buf.filled().is_empty() {
                return (total, polled);
            }
        }
    }

    #[test]
    fn turn_ends_after_its_limit_and_wakes() {
        let much = vec![0; 2 * TURN + 5];
        let mut io = Paced::new(&much[..], Rc::default());
        let wakes = Arc::new(Wakes::default());
        let waker = Arc::clone(&wakes).into();
        let mut cx = Context::from_waker(&waker);
        for turn in 1..=2 {
            assert!(matches!(read(&mut io, &mut cx), (TURN, Poll::Pending)));
            assert_eq!(wakes.0.load(Ordering::Relaxed), turn);
        }
        let rest = read(&mut io, &mut cx);
        assert!(matches!(rest, (5, Poll::Ready(Ok(())))));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn preamble_is_limited_until_the_answer() {
        let much = vec![0; 2 * PREAMBLE];
        let answered = Rc::new(Cell::new(false));
        let mut io = Paced::new(&much[..], Rc::clone(&answered));
        let mut cx = Context::from_waker(Waker::noop());
        let mut total = 0;
        let mut reads = || loop {
            let (length, polled) = read(&mut io, &mut cx);
            total += length;
            if let Poll::Ready(ended) = polled {
                return (total, ended.map_err(|error| error.to_string()));
            }
        };
        let error = "no answer within the first 256 KiB".to_owned();
        assert_eq!(reads(), (PREAMBLE, Err(error)));
        answered.set(true);
        assert_eq!(reads(), (2 * PREAMBLE, Ok(())));
    }
}
