use super::{InflateError, inflate};
use crate::{Accept, Compression, Delivery};

/// Appends the line of a delivery to a consumer that accepts these compressions. A payload of
/// another one is decompressed, as far as it fits into a line of `max_line` bytes. A due time that
/// does not fit any more is left out: a task that an older server took may need the whole line.
///
/// # Errors
///
/// If the payload is not what its compression says, or the line would be longer.
pub fn encode(
    delivery: &Delivery<'_>,
    accept: Accept,
    max_line: usize,
    out: &mut Vec<u8>,
) -> Result<(), InflateError> {
    if accept.takes(delivery.compression) {
        encode_due(delivery, max_line, out);
        return Ok(());
    }
    let empty = Delivery {
        due: None,
        compression: Compression::None,
        payload: &[],
        ..delivery.clone()
    };
    // Four bytes of base64 for every three.
    let room = max_line.saturating_sub(empty.longest()) / 4 * 3;
    let payload = inflate(delivery.compression, delivery.payload, room)?;
    let inflated = Delivery {
        due: delivery.due,
        payload: &payload,
        ..empty
    };
    encode_due(&inflated, max_line, out);
    Ok(())
}

fn encode_due(delivery: &Delivery<'_>, max_line: usize, out: &mut Vec<u8>) {
    if delivery.due.is_none() || delivery.fits(max_line) {
        return delivery.encode(out);
    }
    let without = Delivery {
        due: None,
        ..delivery.clone()
    };
    without.encode(out);
}
