//! The encoded lines on their way to a socket.

use race_wheel::Tick;

use crate::scheduler::CopyOf;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// How many of them need not be passed to the socket again.
    written: usize,
    /// The lines that are deliveries, in their order.
    deliveries: Vec<Line>,
}

/// The line of a delivery.
#[derive(Debug)]
struct Line {
    start: usize,
    end: usize,
    delivery: Delivery,
}

/// A delivery whose line is in a chunk.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) copy: CopyOf,
    pub(super) attempt: u32,
    pub(super) until: Tick,
    pub(super) write_by: Tick,
}

impl Chunk {
    /// The bytes from `start` on are the line of a delivery.
    pub(super) fn is_delivery(&mut self, start: usize, delivery: Delivery) {
        let end = self.bytes.len();
        self.deliveries.push(Line {
            start,
            end,
            delivery,
        });
    }

    /// Returns the bytes that are still to be written.
    pub(super) fn left(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Some bytes of [`left`](Self::left) are written; `left` of them are not.
    pub(super) const fn wrote_all_but(&mut self, left: usize) {
        self.written = self.bytes.len() - left;
    }

    /// Everything is written.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
        self.deliveries.clear();
    }

    /// Removes the lines of deliveries of which nothing is written and whose time to be written has
    /// passed. Returns those, and when the time of the next one passes.
    pub(super) fn take_late(&mut self, now: Tick) -> (Vec<Delivery>, Option<Tick>) {
        let (written, mut removed) = (self.written, 0);
        let (mut late, mut next): (_, Option<Tick>) = (Vec::new(), None);
        let mut kept = Vec::with_capacity(self.deliveries.len());
        for mut line in std::mem::take(&mut self.deliveries) {
            line.start -= removed;
            line.end -= removed;
            let is_begun = line.start < written;
            let write_by = line.delivery.write_by;
            if !is_begun && write_by <= now {
                removed += line.end - line.start;
                self.bytes.drain(line.start..line.end);
                late.push(line.delivery);
                continue;
            }
            if !is_begun {
                next = Some(next.map_or(write_by, |next| next.min(write_by)));
            }
            kept.push(line);
        }
        self.deliveries = kept;
        (late, next)
    }

    /// Removes the deliveries of which nothing is written.
    pub(super) fn take_unwritten(&mut self) -> impl Iterator<Item = Delivery> {
        let written = self.written;
        let lines = std::mem::take(&mut self.deliveries).into_iter();
        let unwritten = lines.filter(move |line| line.start >= written);
        unwritten.map(|line| line.delivery)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk of a reply, `a`, and deliveries, `0` to `3`, of which the first line and a half is
    /// written.
    fn chunk() -> Chunk {
        let mut chunk = Chunk::default();
        for (line, write_by) in [("aa", None), ("00", Some(10)), ("11", Some(30))]
            .into_iter()
            .chain([("bb", None), ("22", Some(10)), ("33", Some(20))])
        {
            let start = chunk.bytes.len();
            chunk.bytes.extend_from_slice(line.as_bytes());
            if let Some(write_by) = write_by {
                let id: u64 = line[..1].parse().unwrap();
                let delivery = Delivery {
                    copy: CopyOf {
                        consumer: 1,
                        seq: id,
                        id: "task".into(),
                    },
                    attempt: 1,
                    until: Tick::new(100),
                    write_by: Tick::new(write_by),
                };
                chunk.is_delivery(start, delivery);
            }
        }
        chunk.wrote_all_but(9);
        chunk
    }

    fn seqs(deliveries: impl IntoIterator<Item = Delivery>) -> Vec<u64> {
        deliveries.into_iter().map(|it| it.copy.seq).collect()
    }

    #[test]
    fn late_lines_are_cut_out_and_others_stay() {
        let mut chunk = chunk();
        assert_eq!(chunk.left(), b"011bb2233");
        let (late, next) = chunk.take_late(Tick::new(9));
        assert_eq!((seqs(late), next), (vec![], Some(Tick::new(10))));
        let (late, next) = chunk.take_late(Tick::new(15));
        assert_eq!((seqs(late), next), (vec![2], Some(Tick::new(20))));
        assert_eq!(chunk.left(), b"011bb33");
        let (late, next) = chunk.take_late(Tick::new(40));
        assert_eq!((seqs(late), next), (vec![1, 3], None));
        assert_eq!(chunk.left(), b"0bb");
        assert_eq!(seqs(chunk.take_unwritten()), [] as [u64; 0]);
    }

    #[test]
    fn a_line_of_which_a_byte_is_written_is_written() {
        let mut chunk = chunk();
        assert_eq!(seqs(chunk.take_unwritten()), [1, 2, 3]);
        let mut chunk = self::chunk();
        chunk.wrote_all_but(5);
        assert_eq!(seqs(chunk.take_unwritten()), [2, 3]);
        chunk.clear();
        assert!(chunk.left().is_empty());
    }
}
