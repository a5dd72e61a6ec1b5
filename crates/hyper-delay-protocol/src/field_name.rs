//! The names of the fields of requests.

/// Passes every field to a macro: its variant of [`FieldName`], and its name on the wire.
macro_rules! for_each_field {
    ($with:ident) => {
        $with! {
            Kind kind
            Tag tag
            Token token
            Id id
            RouteKey route_key
            FireAt fire_at
            PayloadBase64 payload_base64
            Compression compression
            Replace replace
            Attempt attempt
            Confirm confirm
            Failed failed
            DelayMs delay_ms
            Credit credit
            Mode mode
            After after
            Limit limit
            Protocol protocol
            Strict strict
            Offset offset
            Payload payload
            State state
            Reason reason
            From from
            Until until
            Job job
            DryRun dry_run
            InFlight in_flight
            Before before
            Accept accept
            ExtendMs extend_ms
            Headers headers
            ExpiresAt expires_at
            AckTimeoutMs ack_timeout_ms
            MaxAttempts max_attempts
            RetryDelayMs retry_delay_ms
            MaxRetryDelayMs max_retry_delay_ms
            Due due
            ShiftMs shift_ms
        }
    };
}

pub(crate) use for_each_field;

macro_rules! define {
    ($($variant:ident $name:ident)*) => {
        /// A field of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum FieldName {
            $($variant,)*
        }

        impl FieldName {
            /// All fields, in the order of their declaration.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The number of fields.
            pub(crate) const COUNT: usize = Self::ALL.len();

            /// The name on the wire.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($name),)*
                }
            }

            /// The field with this name.
            pub(crate) fn named(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

for_each_field!(define);

/// A set of fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(u64);

const _: () = assert!(FieldName::COUNT <= 64, "a set has a bit for each field");

impl FieldSet {
    pub(crate) const fn of(fields: &[FieldName]) -> Self {
        let mut set = Self(0);
        let mut index = 0;
        while index < fields.len() {
            set = set.with(fields[index]);
            index += 1;
        }
        set
    }

    pub(crate) const fn with(self, field: FieldName) -> Self {
        Self(self.0 | 1 << field as u32)
    }

    pub(crate) const fn has(self, field: FieldName) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    /// Whether the sets have a field in common.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The first field of this set that `other` does not have.
    pub(crate) fn first_beyond(self, other: Self) -> Option<FieldName> {
        let beyond = self.0 & !other.0;
        FieldName::ALL
            .get(beyond.trailing_zeros() as usize)
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_found_by_its_name() {
        for (index, field) in FieldName::ALL.iter().enumerate() {
            assert_eq!(*field as usize, index);
            assert_eq!(FieldName::named(field.as_str()), Some(*field));
        }
        assert_eq!(FieldName::named("priority"), None);
    }

    #[test]
    fn the_first_field_beyond_a_set_is_found() {
        let all = FieldSet::of(FieldName::ALL);
        let few = FieldSet::of(&[FieldName::Kind, FieldName::Id]);
        assert!(few.has(FieldName::Id) && !few.has(FieldName::Tag));
        assert!(few.meets(all) && !few.meets(FieldSet::of(&[FieldName::Tag])));
        assert_eq!(few.first_beyond(all), None);
        assert_eq!(all.first_beyond(all), None);
        assert_eq!(all.first_beyond(few), Some(FieldName::Tag));
    }
}
