package hyperdelay;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The wait between connection attempts. It doubles with each failure and is drawn evenly from its
 * upper half, so that the clients of one server do not all reconnect at the same moment.
 */
final class Backoff {
    private final long min;
    private final long max;
    private long next;

    Backoff(Duration min, Duration max) {
        this.min = min.toMillis();
        this.max = Math.max(this.min, max.toMillis());
        next = this.min;
    }

    long nextMillis() {
        long wait = next;
        next = Math.min(max, wait * 2);
        return wait - ThreadLocalRandom.current().nextLong(wait / 2 + 1);
    }

    void reset() {
        next = min;
    }
}
