use std::{
    fmt::{self, Display, Formatter},
    sync::Arc,
};

use uuid::Uuid;

/// What the routes begin with that the server makes.
pub(crate) const PREFIX: &str = "conn-";

/// The name of a route as a server makes it for a connection that schedules without one: `conn-` and
/// 32 hexadecimal digits.
///
/// Its connection registers it at once. When it has no consumer any more, its tasks are orphaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    any(feature = "cluster", test),
    derive(serde::Serialize, serde::Deserialize)
)]
pub(crate) struct OwnRoute(u128);

impl OwnRoute {
    /// Returns the name of a new one.
    pub(crate) fn make() -> Arc<str> {
        Self(Uuid::now_v7().as_u128()).to_string().into()
    }

    /// Returns which one this is. `None`: no server makes such a name.
    pub(crate) fn parse(route: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let digits = route.strip_prefix(PREFIX)?;
        let is_made = digits.len() == 32 && digits.bytes().all(is_digit);
        let number = is_made.then(|| u128::from_str_radix(digits, 16));
        number?.ok().map(Self)
    }
}

/// The route that the server makes for a connection, and what rests on its registration. A schedule
/// that is refused changes nothing, so the registration goes with the last one that rests on it.
#[derive(Debug, Default)]
pub(crate) struct Own {
    name: Option<Arc<str>>,
    /// Schedules without an answer.
    under_way: u32,
    /// The route stays registered: a schedule on it was accepted, or may have been, or the client has
    /// registered it.
    is_kept: bool,
}

impl Own {
    /// Returns its name, if there is one.
    pub(crate) const fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// Returns its name: always the same.
    pub(crate) fn make(&mut self) -> Arc<str> {
        self.name.get_or_insert_with(OwnRoute::make).clone()
    }

    /// Whether that is its name.
    pub(crate) fn is(&self, route: &str) -> bool {
        self.name.as_deref() == Some(route)
    }

    /// The client has registered it, or a schedule on it may have been accepted.
    pub(crate) const fn keep(&mut self) {
        self.is_kept = true;
    }

    /// The client has it no longer.
    pub(crate) const fn leave(&mut self) {
        self.is_kept = false;
    }

    /// A schedule on it is asked for.
    pub(crate) const fn schedules(&mut self) {
        self.under_way += 1;
    }

    /// A schedule on it is answered. Returns whether nothing rests on its registration any more.
    pub(crate) const fn scheduled(&mut self, was_refused: bool) -> bool {
        self.under_way = self.under_way.saturating_sub(1);
        self.is_kept |= !was_refused;
        !self.is_kept && self.under_way == 0
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
        let route = OwnRoute::make();
        let parsed = OwnRoute::parse(&route).unwrap();
        assert_eq!(*parsed.to_string(), *route);
        let smallest = "conn-00000000000000000000000000000007";
        assert_eq!(OwnRoute::parse(smallest), Some(OwnRoute(7)));
        assert_eq!(OwnRoute(7).to_string(), smallest);
    }

    #[test]
    fn its_registration_goes_with_the_last_schedule_that_rests_on_it() {
        let mut own = Own::default();
        own.schedules();
        own.schedules();
        assert!(!own.scheduled(true), "another one is under way");
        assert!(own.scheduled(true));
        own.schedules();
        assert!(!own.scheduled(false));
        own.schedules();
        assert!(!own.scheduled(true), "an accepted one rests on it");
        own.leave();
        own.schedules();
        assert!(own.scheduled(true));
        own.keep();
        own.schedules();
        assert!(!own.scheduled(true), "the client has registered it");
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
