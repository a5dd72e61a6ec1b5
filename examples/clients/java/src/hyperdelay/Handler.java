package hyperdelay;

import java.util.concurrent.CompletionStage;

/**
 * Does the work of a delivery. When its stage completes or is null, the delivery is acknowledged.
 * When the handler throws or its stage fails, the delivery is given back and arrives again after
 * the server's backoff, or after the delay of a {@link RetryAfterException}; with an {@link
 * UnharmedException} it has not failed. If the handler takes longer than the server's {@code ack_timeout_ms} (default: 30 s), the task arrives again.
 *
 * <p>Handlers run on {@link ClientOptions#handlers} and may block there.
 */
@FunctionalInterface
public interface Handler {
    CompletionStage<?> handle(Delivery delivery) throws Exception;

    /** Returns a handler that is done when {@code work} returns. */
    static Handler of(Work work) {
        return delivery -> {
            work.run(delivery);
            return null;
        };
    }

    /** The argument of {@link #of}. */
    @FunctionalInterface
    interface Work {
        void run(Delivery delivery) throws Exception;
    }
}
