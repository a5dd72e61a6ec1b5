use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What the routes begin with that the server makes.
const PREFIX: &str = "conn-";

/// The routes that the server made for open connections, because they scheduled without one.
#[derive(Debug, Default)]
pub(crate) struct OwnRoutes {
    open: Mutex<HashSet<Arc<str>>>,
}

impl OwnRoutes {
    /// Makes a route for an open connection.
    pub(crate) fn make(&self) -> Arc<str> {
        let route: Arc<str> = format!("{PREFIX}{}", uuid::Uuid::now_v7().simple()).into();
        self.open().insert(route.clone());
        route
    }

    /// The connection of a route is gone.
    pub(crate) fn remove(&self, route: &str) {
        self.open().remove(route);
    }

    /// Returns whether the server made a route for a connection that is gone: `conn-` and 32
    /// hexadecimal digits.
    pub(crate) fn is_orphaned(&self, route: &str) -> bool {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let digits = route.strip_prefix(PREFIX);
        let is_made =
            digits.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(is_digit));
        is_made && !self.open().contains(route)
    }

    fn open(&self) -> MutexGuard<'_, HashSet<Arc<str>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_orphaned_once_its_connection_is_gone() {
        let routes = OwnRoutes::default();
        let route = routes.make();
        assert!(!routes.is_orphaned(&route));
        routes.remove(&route);
        assert!(routes.is_orphaned(&route));
    }

    #[test]
    fn the_routes_of_clients_are_never_orphaned() {
        let routes = OwnRoutes::default();
        let almost = "conn-0123456789abcdef0123456789abcde";
        assert!(routes.is_orphaned(&format!("{almost}f")));
        for other in [
            "service-A",
            "conn-",
            almost,
            "conn-0123456789ABCDEF0123456789ABCDEF",
        ] {
            assert!(!routes.is_orphaned(other), "{other}");
        }
    }
}
