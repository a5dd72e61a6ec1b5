package hyperdelay;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;

/**
 * What applies to one task instead of the settings of its route and of the server. Null leaves a
 * setting. They are content: the same task with other terms is another one.
 *
 * @param expiresAt when the task is removed if it is not done by then; null: never
 * @param ackTimeout the time that a consumer has for its answer
 * @param maxAttempts the failed rounds after which the task is a dead letter, from 1
 * @param retryDelay the wait after the first failed round
 * @param maxRetryDelay the longest wait after a failed round
 */
public record Terms(Instant expiresAt, Duration ackTimeout, Long maxAttempts, Duration retryDelay, Duration maxRetryDelay) {
    /** No terms. */
    public static final Terms NONE = new Terms(null, null, null, null, null);

    public Terms withExpiresAt(Instant expiresAt) {
        return new Terms(expiresAt, ackTimeout, maxAttempts, retryDelay, maxRetryDelay);
    }

    public Terms withAckTimeout(Duration ackTimeout) {
        return new Terms(expiresAt, ackTimeout, maxAttempts, retryDelay, maxRetryDelay);
    }

    public Terms withMaxAttempts(long maxAttempts) {
        return new Terms(expiresAt, ackTimeout, maxAttempts, retryDelay, maxRetryDelay);
    }

    public Terms withRetryDelay(Duration first, Duration longest) {
        return new Terms(expiresAt, ackTimeout, maxAttempts, first, longest);
    }

    void write(ObjectNode request) {
        if (expiresAt != null) {
            request.put("expires_at", expiresAt.toEpochMilli());
        }
        put(request, "ack_timeout_ms", ackTimeout);
        if (maxAttempts != null) {
            request.put("max_attempts", maxAttempts.longValue());
        }
        put(request, "retry_delay_ms", retryDelay);
        put(request, "max_retry_delay_ms", maxRetryDelay);
    }

    /** Rounds up to a millisecond. */
    private static void put(ObjectNode request, String field, Duration value) {
        if (value != null) {
            request.put(field, value.plusNanos(999_999).toMillis());
        }
    }
}
