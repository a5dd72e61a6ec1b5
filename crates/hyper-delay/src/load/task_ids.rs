//! Task ids of a realistic length that end with the number of the task.

use std::io::Write as _;

/// The number of hexadecimal digits at the end of an id.
const DIGITS: usize = 8;

/// The route of a connection, and the ids of its tasks.
#[derive(Debug)]
pub(super) struct TaskIds {
    route: String,
}

impl TaskIds {
    pub(super) fn new(name: &str, connection: u32) -> Self {
        Self {
            route: format!("{name}-{connection:04x}"),
        }
    }

    pub(super) fn route(&self) -> &str {
        &self.route
    }

    /// Appends the id of task `number` to `out`.
    pub(super) fn write(&self, number: u32, out: &mut Vec<u8>) {
        write!(out, "{}-{number:0DIGITS$x}", self.route).expect("writing to memory never fails");
    }
}

/// Returns the number of the task with this id. `None` if `id` does not end with a number.
pub(super) fn number(id: &[u8]) -> Option<u32> {
    let digits = id.len().checked_sub(DIGITS)?;
    let digits = std::str::from_utf8(&id[digits..]).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_ends_with_the_number_of_the_task() {
        let mut id = Vec::new();
        TaskIds::new("bench", 3).write(0xab_cdef, &mut id);
        assert_eq!(id, b"bench-0003-00abcdef");
        assert_eq!(number(&id), Some(0xab_cdef));
        assert_eq!(number(b"short"), None);
    }
}
