use super::{InflateError, inflate};
use crate::{Accept, Compression, Delivery};

/// Appends the line of a delivery to a consumer that accepts these compressions. A payload of
/// another one is decompressed, as far as it fits into a line of `max_line` bytes.
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
        delivery.encode(out);
        return Ok(());
    }
    let empty = Delivery {
        compression: Compression::None,
        payload: &[],
        ..delivery.clone()
    };
    // Four bytes of base64 for every three.
    let room = max_line.saturating_sub(empty.longest()) / 4 * 3;
    let payload = inflate(delivery.compression, delivery.payload, room)?;
    let inflated = Delivery {
        payload: &payload,
        ..empty
    };
    inflated.encode(out);
    Ok(())
}
