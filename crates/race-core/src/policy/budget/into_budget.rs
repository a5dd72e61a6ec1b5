use super::{Budget, Charge};
use crate::Hook;

/// A budget that races share, for [`budget`](crate::GenericRace::budget): a `&Budget`, an
/// `Arc<Budget>`, an `&Arc<Budget>`, or an `Option` of one of these. `None` charges nothing.
///
/// `Arc` is that of `alloc`, and with the feature `portable-atomic` also that of
/// `portable-atomic-util`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a budget that races can share",
    label = "not a shared `Budget`",
    note = "a budget is a `&Budget`, an `Arc<Budget>`, an `&Arc<Budget>`, or an `Option` of these",
    note = "for a `LazyLock` or another pointer, pass what it points to: `&*pointer`"
)]
pub trait IntoBudget {
    #[doc(hidden)]
    type Hook: Hook;

    #[doc(hidden)]
    fn into_hook(self) -> Self::Hook;
}

impl<'a> IntoBudget for &'a Budget {
    type Hook = Charge<&'a Budget>;

    fn into_hook(self) -> Self::Hook {
        Charge::new(self)
    }
}

/// `None` charges nothing.
impl<B: IntoBudget> IntoBudget for Option<B> {
    type Hook = Option<B::Hook>;

    fn into_hook(self) -> Self::Hook {
        self.map(B::into_hook)
    }
}

/// `None` charges nothing.
impl<'a, B> IntoBudget for &'a Option<B>
where
    &'a B: IntoBudget,
{
    type Hook = Option<<&'a B as IntoBudget>::Hook>;

    fn into_hook(self) -> Self::Hook {
        self.as_ref().map(IntoBudget::into_hook)
    }
}

macro_rules! into_budget {
    ($arc:ty) => {
        impl IntoBudget for $arc {
            type Hook = Charge<$arc>;

            fn into_hook(self) -> Self::Hook {
                Charge::new(self)
            }
        }

        impl<'a> IntoBudget for &'a $arc {
            type Hook = Charge<&'a Budget>;

            fn into_hook(self) -> Self::Hook {
                Charge::new(&**self)
            }
        }
    };
}

#[cfg(target_has_atomic = "ptr")]
into_budget!(alloc::sync::Arc<Budget>);

#[cfg(feature = "portable-atomic")]
into_budget!(portable_atomic_util::Arc<Budget>);
