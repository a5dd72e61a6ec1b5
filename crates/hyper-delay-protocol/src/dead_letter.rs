use std::sync::Arc;

use super::{
    Content, LastFailure,
    json_writer::{self, JsonWriter},
    task_queries::ContentSink,
};

/// A dead letter, or an orphaned task of any state.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct DeadTask {
    /// The id of the task.
    pub id: Arc<str>,
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The number of its last round; 0 if there was none.
    pub attempt: u32,
    /// The time it died in Unix milliseconds; 0 if it is not dead.
    pub died_at: u64,
    /// The reason of its death, if known: an unreadable content, or a consumer's reason.
    pub reason: Option<Arc<str>>,
    /// Its last failure, if one is stored.
    pub last_failure: Option<Box<LastFailure>>,
    /// Whether a server made the task's route, and no connection has it registered.
    pub orphaned: bool,
    /// Its content, if it was asked for and can be read.
    pub content: Option<Content>,
}

impl DeadTask {
    /// The length of its object in a line, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        json_writer::nested_length(|object| self.write(object))
    }

    pub(super) fn write<W: ContentSink>(&self, object: JsonWriter<'_, W>) {
        let object = object
            .field("id", &*self.id)
            .field("fire_at", &self.fire_at)
            .field("attempt", &self.attempt)
            .field("died_at", &self.died_at)
            .optional("reason", self.reason.as_deref())
            .object(
                "last_failure",
                self.last_failure.as_deref(),
                LastFailure::write,
            )
            .optional("orphaned", self.orphaned.then_some(true));
        match &self.content {
            Some(content) => content.fields(object).close(),
            None => object.close(),
        }
    }
}
