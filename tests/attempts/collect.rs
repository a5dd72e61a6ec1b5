//! Sets from iterators, and sets with room in advance.

use std::future::{Ready, ready};

use futures::{FutureExt, StreamExt};
use race::Attempts;

/// Drains a set whose futures are ready.
fn outputs<F: Future, A>(set: Attempts<F, A>) -> Vec<(A, F::Output)> {
    set.collect::<Vec<_>>()
        .now_or_never()
        .expect("all are ready")
}

#[test]
fn futures_are_collected_and_polled_in_order() {
    for count in [0, 1, 2, 3, 64] {
        let mut set: Attempts<_> = (0..count).map(ready).collect();
        assert_eq!(set.len(), count);
        set.extend((count..64).map(ready));
        set.push(ready(64));
        // Place 64 is not among the first 64, which are polled in the order of the pushes.
        assert!(
            outputs(set)
                .into_iter()
                .map(|((), output)| output)
                .eq(0..65)
        );
    }
}

#[test]
fn pairs_are_collected_with_their_arguments() {
    let pairs = ["a", "b", "c"].map(|name| (name, ready(name.to_uppercase())));
    let mut set: Attempts<_, _> = pairs.into_iter().collect();
    set.extend([("d", ready("D".to_owned()))]);
    let outputs = outputs(set);
    assert_eq!(outputs.len(), 4);
    assert!(
        outputs
            .iter()
            .all(|(name, output)| name.to_uppercase() == *output)
    );
}

#[test]
fn iterator_with_a_wrong_size_hint_is_collected() {
    /// Claims to have this many elements, and has three.
    struct Wrong(usize, std::ops::Range<usize>);

    impl Iterator for Wrong {
        type Item = Ready<usize>;

        fn next(&mut self) -> Option<Ready<usize>> {
            self.1.next().map(ready)
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.0, Some(self.0))
        }
    }

    for claimed in [0, 1, 2, 3, 100] {
        let set: Attempts<_> = Wrong(claimed, 0..3).collect();
        assert_eq!(outputs(set), [((), 0), ((), 1), ((), 2)]);
    }
}

#[test]
fn presized_set_works_below_at_and_beyond_its_capacity() {
    for capacity in [0, 1, 2, 3, 4, 64, 65, 200] {
        for count in [1, capacity / 2, capacity, capacity + 1, 3 * capacity] {
            let mut set = Attempts::with_capacity(capacity);
            assert!(set.is_empty());
            for round in 0..2 {
                (0..count).for_each(|number| set.push_with(number, ready(number + round)));
                let mut outputs = Vec::new();
                while let Some(output) = set.next().now_or_never().expect("all are ready") {
                    outputs.push(output);
                }
                outputs.sort_unstable();
                assert!(
                    outputs
                        .into_iter()
                        .eq((0..count).map(|it| (it, it + round)))
                );
            }
        }
    }
}
