package hyperdelay;

import java.util.concurrent.CompletionStage;

/**
 * Does the work of a delivery. When its stage completes, or when it returned null, the delivery is acknowledged. When it throws
 * or its stage fails, the delivery is given back, and comes again after the server's backoff, or after the delay of a
 * {@link RetryAfterException}. A handler that takes longer than the server's {@code ack_timeout_ms} (30 s by default) sees its
 * task again.
 *
 * <p>Handlers run on {@link ClientOptions#handlers} and may block there.
 */
@FunctionalInterface
public interface Handler {
    CompletionStage<?> handle(Delivery delivery) throws Exception;

    /** A handler that is done when it returns. */
    static Handler of(Work work) {
        return delivery -> {
            work.run(delivery);
            return null;
        };
    }

    /** What {@link #of} takes. */
    @FunctionalInterface
    interface Work {
        void run(Delivery delivery) throws Exception;
    }
}
