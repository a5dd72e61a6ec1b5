//! The encoded lines on their way to a socket.

use std::sync::Arc;

use race_wheel::Tick;

use hyper_delay_engine::{authority::Authority, scheduler::CopyId};

/// Lines, of which the first ones are written.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The number of bytes that need not be passed to the socket again.
    written: usize,
    /// The lines that are deliveries, in their order.
    deliveries: Vec<DeliveryLine>,
}

/// The line of a delivery.
#[derive(Debug)]
struct DeliveryLine {
    start: usize,
    end: usize,
    delivery: EncodedDelivery,
}

/// A delivery whose line is in a chunk.
#[derive(Debug)]
pub(super) struct EncodedDelivery {
    pub(super) copy: CopyId,
    /// When the round was due, in Unix milliseconds.
    pub(super) due: u64,
    pub(super) attempt: u32,
    pub(super) until: Tick,
    pub(super) write_by: Tick,
    /// The leadership that it needs. `None`: there are no other nodes.
    pub(super) authority: Option<Arc<Authority>>,
}

impl Chunk {
    /// The bytes from `start` on are the line of a delivery.
    pub(super) fn add_delivery(&mut self, start: usize, delivery: EncodedDelivery) {
        let end = self.bytes.len();
        self.deliveries.push(DeliveryLine {
            start,
            end,
            delivery,
        });
    }

    /// Returns the bytes that are still to be written.
    pub(super) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Some bytes of [`unwritten`](Self::unwritten) are written; `unwritten` of them are not.
    pub(super) const fn set_unwritten(&mut self, unwritten: usize) {
        self.written = self.bytes.len() - unwritten;
    }

    /// Everything is written.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
        self.deliveries.clear();
    }

    /// Removes the lines of deliveries of which nothing is written and whose time to be written has
    /// passed. Returns those, and when the time of the next one passes.
    pub(super) fn take_late(&mut self, now: Tick) -> (Vec<EncodedDelivery>, Option<Tick>) {
        let (bytes, written, mut removed) = (&mut self.bytes, self.written, 0);
        let is_late = |line: &mut DeliveryLine| {
            line.start -= removed;
            line.end -= removed;
            let is_late = line.start >= written && line.delivery.write_by <= now;
            if is_late {
                removed += line.end - line.start;
                bytes.drain(line.start..line.end);
            }
            is_late
        };
        let late = self.deliveries.extract_if(.., is_late);
        let late = late.map(|line| line.delivery).collect();
        let unwritten = self.deliveries.iter().filter(|line| line.start >= written);
        (late, unwritten.map(|line| line.delivery.write_by).min())
    }

    /// Returns when the first of the leaderships ends of which deliveries are not written to their
    /// end.
    pub(super) fn first_authority_end(&self) -> Option<Tick> {
        let unwritten = self
            .deliveries
            .iter()
            .filter(|line| line.end > self.written);
        let authorities = unwritten.filter_map(|line| line.delivery.authority.as_ref());
        authorities.map(|it| it.until()).min()
    }

    /// Returns the number of deliveries of which something is written.
    pub(super) fn count_started(&self) -> usize {
        let lines = self.deliveries.iter();
        lines.filter(|line| line.start < self.written).count()
    }

    /// Removes the deliveries of which nothing is written.
    pub(super) fn take_unwritten(&mut self) -> impl Iterator<Item = EncodedDelivery> {
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
                let delivery = EncodedDelivery {
                    copy: CopyId {
                        consumer: 1,
                        seq: id,
                        id: "task".into(),
                    },
                    due: 0,
                    attempt: 1,
                    until: Tick::new(100),
                    write_by: Tick::new(write_by),
                    authority: None,
                };
                chunk.add_delivery(start, delivery);
            }
        }
        chunk.set_unwritten(9);
        chunk
    }

    fn seqs(deliveries: impl IntoIterator<Item = EncodedDelivery>) -> Vec<u64> {
        deliveries.into_iter().map(|it| it.copy.seq).collect()
    }

    #[test]
    fn late_lines_are_cut_out_and_others_stay() {
        let mut chunk = chunk();
        assert_eq!(chunk.unwritten(), b"011bb2233");
        let (late, next) = chunk.take_late(Tick::new(9));
        assert_eq!((seqs(late), next), (vec![], Some(Tick::new(10))));
        let (late, next) = chunk.take_late(Tick::new(15));
        assert_eq!((seqs(late), next), (vec![2], Some(Tick::new(20))));
        assert_eq!(chunk.unwritten(), b"011bb33");
        let (late, next) = chunk.take_late(Tick::new(40));
        assert_eq!((seqs(late), next), (vec![1, 3], None));
        assert_eq!(chunk.unwritten(), b"0bb");
        assert_eq!(seqs(chunk.take_unwritten()), [] as [u64; 0]);
    }

    #[test]
    fn a_line_of_which_a_byte_is_written_is_written() {
        let mut chunk = chunk();
        assert_eq!(seqs(chunk.take_unwritten()), [1, 2, 3]);
        let mut chunk = self::chunk();
        chunk.set_unwritten(5);
        assert_eq!(seqs(chunk.take_unwritten()), [2, 3]);
        chunk.clear();
        assert!(chunk.unwritten().is_empty());
    }
}
