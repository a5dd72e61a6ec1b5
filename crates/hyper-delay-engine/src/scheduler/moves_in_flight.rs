use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The names of the tasks with a move that is not on disk yet.
///
/// A due task with such a name is held: no round of it begins. So the revision that is in flight when
/// a move is submitted is the only one that can be when the move is applied.
#[derive(Debug, Default)]
pub(super) struct MovesInFlight {
    by_name: FxHashMap<(Arc<str>, Arc<str>), MovesOfName>,
}

#[derive(Debug, Default)]
struct MovesOfName {
    /// The number of moves in flight.
    moves: usize,
    /// The held revisions. Some of them can be gone.
    held: Vec<u64>,
}

impl MovesInFlight {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// A move of a task is submitted.
    pub(super) fn begin(&mut self, route: Arc<str>, id: Arc<str>) {
        self.by_name.entry((route, id)).or_default().moves += 1;
    }

    /// A due revision arrives. Returns whether it must be held, and if so notes it.
    pub(super) fn hold(&mut self, seq: u64, route: &Arc<str>, id: &Arc<str>) -> bool {
        let moves = self.by_name.get_mut(&(route.clone(), id.clone()));
        let is_held = moves.map(|moves| moves.held.push(seq));
        is_held.is_some()
    }

    /// A move of a task is on disk, or has changed nothing. After the last one of a name, returns the
    /// held revisions, which are held no longer.
    pub(super) fn end(&mut self, route: &Arc<str>, id: &Arc<str>) -> Vec<u64> {
        let name = (route.clone(), id.clone());
        let Some(moves) = self.by_name.get_mut(&name) else {
            return Vec::new();
        };
        moves.moves -= 1;
        if moves.moves > 0 {
            return Vec::new();
        }
        let moves = self.by_name.remove(&name);
        moves.map_or_else(Vec::new, |moves| moves.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_held_until_the_last_move_of_their_name_has_ended() {
        let (route, id): (Arc<str>, Arc<str>) = ("route".into(), "id".into());
        let mut moves = MovesInFlight::default();
        assert!(!moves.hold(1, &route, &id), "nothing moves");
        moves.begin(route.clone(), id.clone());
        moves.begin(route.clone(), id.clone());
        assert!(moves.hold(1, &route, &id));
        assert!(!moves.hold(2, &id, &route), "it has another name");
        assert_eq!(moves.end(&route, &id), [0; 0]);
        assert!(moves.hold(3, &route, &id));
        assert_eq!(moves.end(&route, &id), [1, 3]);
        assert!(moves.is_empty());
    }
}
