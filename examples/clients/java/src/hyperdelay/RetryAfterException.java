package hyperdelay;

import java.time.Duration;

/** For a {@link Handler} to throw: the task is due again after the delay, instead of after the server's backoff. */
public final class RetryAfterException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Duration delay;

    /** Without a cause: the handler just does not want the task now. */
    public RetryAfterException(Duration delay) {
        this(delay, null);
    }

    public RetryAfterException(Duration delay, Throwable cause) {
        super("retry after " + delay, cause);
        if (delay.isNegative()) {
            throw new IllegalArgumentException("the delay is " + delay + ": take zero or more");
        }
        this.delay = delay;
    }

    public Duration delay() {
        return delay;
    }
}
