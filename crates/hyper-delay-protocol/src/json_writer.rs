//! Writes a JSON object field by field.

use std::io;

use serde::Serialize;

/// An object that is written into a sink. [`close`](Self::close) ends it.
pub(super) struct JsonWriter<'a, W> {
    out: &'a mut W,
    /// The bytes before the next field.
    next: &'static [u8],
}

impl<'a, W: io::Write> JsonWriter<'a, W> {
    /// Starts an object without a `kind`, inside another one.
    pub(super) fn nested(out: &'a mut W) -> Self {
        Self { out, next: b"{" }
    }

    /// Starts a line with its `kind`, which must not need escapes.
    pub(super) fn line(kind: &'static str, out: &'a mut W) -> Self {
        put(out, b"{\"kind\":\"");
        put(out, kind.as_bytes());
        Self { out, next: b"\"," }
    }

    /// Writes a field. Its name must not need escapes.
    pub(super) fn field<T: Serialize + ?Sized>(mut self, name: &'static str, value: &T) -> Self {
        let out = self.name(name);
        serde_json::to_writer(out, value).expect("strings, numbers and lists of them are JSON");
        self
    }

    /// Writes a field unless its value is `None`.
    pub(super) fn optional<T: Serialize>(self, name: &'static str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.field(name, &value),
            None => self,
        }
    }

    /// Writes a string field. `write` writes the text, which must not need escapes.
    pub(super) fn quoted(mut self, name: &'static str, write: impl FnOnce(&mut W)) -> Self {
        let out = self.name(name);
        put(out, b"\"");
        write(out);
        put(out, b"\"");
        self
    }

    /// Writes a field whose value is JSON already, unless it is empty.
    pub(super) fn raw(mut self, name: &'static str, value: &str) -> Self {
        if !value.is_empty() {
            let out = self.name(name);
            put(out, value.as_bytes());
        }
        self
    }

    /// Writes an object, if there is one.
    pub(super) fn object<T>(
        mut self,
        name: &'static str,
        value: Option<&T>,
        write: impl Fn(&T, JsonWriter<'_, W>),
    ) -> Self {
        if let Some(value) = value {
            let out = self.name(name);
            write(value, JsonWriter::nested(out));
        }
        self
    }

    /// Writes a list of objects.
    pub(super) fn list<T>(
        mut self,
        name: &'static str,
        items: &[T],
        write: impl Fn(&T, JsonWriter<'_, W>),
    ) -> Self {
        let out = self.name(name);
        put(out, b"[");
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                put(out, b",");
            }
            write(item, JsonWriter::nested(out));
        }
        put(out, b"]");
        self
    }

    /// Ends the object.
    pub(super) fn close(self) {
        // Without fields, the quote of the kind or the opening brace is still to be written.
        match self.next {
            b"\"," => put(self.out, b"\"}"),
            b"{" => put(self.out, b"{}"),
            _ => put(self.out, b"}"),
        }
    }

    fn name(&mut self, name: &'static str) -> &mut W {
        put(self.out, self.next);
        put(self.out, b"\"");
        put(self.out, name.as_bytes());
        put(self.out, b"\":");
        self.next = b",";
        self.out
    }
}

fn put<W: io::Write>(out: &mut W, bytes: &[u8]) {
    out.write_all(bytes).expect("writing to memory never fails");
}

/// Returns the length of a nested object in bytes. `write` writes its fields.
pub(super) fn nested_length(write: impl FnOnce(JsonWriter<'_, ByteCounter>)) -> usize {
    let mut count = ByteCounter(0);
    write(JsonWriter::nested(&mut count));
    count.0
}

/// A sink that counts bytes.
pub(super) struct ByteCounter(pub(super) usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_object_may_have_any_number_of_fields() {
        assert_eq!(written(|out| JsonWriter::nested(out).close()), "{}");
        assert_eq!(
            written(|out| JsonWriter::line("k", out).close()),
            r#"{"kind":"k"}"#
        );
        let two = |out: &mut Vec<u8>| {
            JsonWriter::line("k", out)
                .field("a", &1)
                .field("b", "2")
                .close();
        };
        assert_eq!(written(two), r#"{"kind":"k","a":1,"b":"2"}"#);
        let one = |out: &mut Vec<u8>| {
            JsonWriter::nested(out)
                .optional("a", None::<u8>)
                .optional("b", Some(true))
                .close();
        };
        assert_eq!(written(one), r#"{"b":true}"#);
    }

    #[test]
    fn strings_are_escaped() {
        let text = "\"\\\n\u{1}é\u{7f}";
        let line = written(|out| JsonWriter::nested(out).field("a", text).close());
        assert_eq!(line, "{\"a\":\"\\\"\\\\\\n\\u0001é\u{7f}\"}");
    }
}
