//! The routes that a server makes for connections that schedule without one.

use std::{
    fmt::{self, Display, Formatter},
    sync::Arc,
};

use uuid::Uuid;

/// The prefix of the routes that servers make.
pub(crate) const PREFIX: &str = "conn-";

/// The name of a route as a server makes it for a connection that schedules without one: `conn-`
/// and 32 hexadecimal digits.
///
/// Its connection registers it at once. When it has no consumer any more, its tasks are orphaned.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct OwnRoute(u128);

impl OwnRoute {
    /// Returns the name of a new one, from a UUID that was never used.
    #[must_use]
    pub fn make(uuid: Uuid) -> Arc<str> {
        Self(uuid.as_u128()).to_string().into()
    }

    /// Parses the name of such a route. `None`: no server makes such a name.
    pub fn parse(route: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let digits = route.strip_prefix(PREFIX)?;
        let is_made = digits.len() == 32 && digits.bytes().all(is_digit);
        let number = is_made.then(|| u128::from_str_radix(digits, 16));
        number?.ok().map(Self)
    }
}

impl Display for OwnRoute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_that_was_made_is_known_by_its_name() {
        let route = OwnRoute::make(Uuid::now_v7());
        let parsed = OwnRoute::parse(&route).unwrap();
        assert_eq!(*parsed.to_string(), *route);
        let smallest = "conn-00000000000000000000000000000007";
        assert_eq!(OwnRoute::parse(smallest), Some(OwnRoute(7)));
        assert_eq!(OwnRoute(7).to_string(), smallest);
    }

    #[test]
    fn other_names_are_those_of_clients() {
        let almost = "conn-0123456789abcdef0123456789abcde";
        assert!(OwnRoute::parse(&format!("{almost}f")).is_some());
        for other in [
            "service-A",
            "conn-",
            almost,
            "conn-0123456789ABCDEF0123456789ABCDEF",
            "conn-+123456789abcdef0123456789abcdef",
        ] {
            assert_eq!(OwnRoute::parse(other), None, "{other}");
        }
    }
}
