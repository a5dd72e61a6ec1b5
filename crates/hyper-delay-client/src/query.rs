//! Requests that are sent when they are awaited.

/// Implements `IntoFuture` for a query: `.await` calls its `ask` and resolves to the answer.
macro_rules! asked_by_await {
    ($query:ty, $answer:ty) => {
        /// # Cancel safety
        ///
        /// Dropping the future discards the reply.
        impl std::future::IntoFuture for $query {
            type Output = Result<$answer, $crate::RequestError>;
            type IntoFuture =
                std::pin::Pin<Box<dyn std::future::Future<Output = Self::Output> + Send>>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.ask())
            }
        }
    };
}

pub(crate) use asked_by_await;
