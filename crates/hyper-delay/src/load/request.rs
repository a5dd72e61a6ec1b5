//! Writes the lines of the load. Its routes and ids need no escapes.

use std::io::Write as _;

use super::{reply::ReceivedDelivery, task_ids::TaskIds};

/// Writes schedules that differ only in id and time.
#[derive(Debug)]
pub(super) struct ScheduleWriter {
    /// The part of a line after the time.
    end: Vec<u8>,
}

impl ScheduleWriter {
    pub(super) fn new(ids: &TaskIds, payload: &str) -> Self {
        let route = ids.route();
        let end = format!(",\"route_key\":\"{route}\",\"payload_base64\":\"{payload}\"}}\n");
        Self { end: end.into() }
    }

    pub(super) fn write(&self, ids: &TaskIds, number: u32, fire_at: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"schedule\",\"id\":\"");
        ids.write(number, out);
        write!(out, "\",\"fire_at\":{fire_at}").expect("writing to memory never fails");
        out.extend_from_slice(&self.end);
    }
}

pub(super) fn register(ids: &TaskIds, credit: u32, out: &mut Vec<u8>) {
    let (route, credit) = (ids.route(), credit.clamp(1, 65_535));
    let line = format!("{{\"kind\":\"register\",\"route_key\":\"{route}\",\"credit\":{credit}}}\n");
    out.extend_from_slice(line.as_bytes());
}

pub(super) fn cancel(ids: &TaskIds, number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":\"cancel\",\"id\":\"");
    ids.write(number, out);
    out.extend_from_slice(b"\",\"route_key\":\"");
    out.extend_from_slice(ids.route().as_bytes());
    out.extend_from_slice(b"\"}\n");
}

pub(super) fn ack(ids: &TaskIds, delivered: ReceivedDelivery, confirm: bool, out: &mut Vec<u8>) {
    let ReceivedDelivery { number, attempt } = delivered;
    out.extend_from_slice(b"{\"kind\":\"ack\",\"id\":\"");
    ids.write(number, out);
    out.extend_from_slice(b"\",\"route_key\":\"");
    out.extend_from_slice(ids.route().as_bytes());
    write!(out, "\",\"attempt\":{attempt}").expect("writing to memory never fails");
    out.extend_from_slice(if confirm {
        b",\"confirm\":true}\n"
    } else {
        b"}\n"
    });
}
