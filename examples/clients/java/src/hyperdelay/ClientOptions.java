package hyperdelay;

import java.time.Duration;
import java.util.concurrent.Executor;

/** The options of a client. A client copies them when it connects. */
public final class ClientOptions {
    int credit = 64;
    int maxLineBytes = 65_536;
    int maxPending = 4_096;
    Duration minBackoff = Duration.ofMillis(100);
    Duration maxBackoff = Duration.ofSeconds(10);
    Duration connectTimeout = Duration.ofSeconds(10);
    Duration keepAlive = Duration.ofSeconds(15);
    Duration closeTimeout = Duration.ofSeconds(5);
    Executor handlers;

    ClientOptions copy() {
        return new ClientOptions().credit(credit).maxLineBytes(maxLineBytes).maxPending(maxPending)
            .backoff(minBackoff, maxBackoff).connectTimeout(connectTimeout).keepAlive(keepAlive).closeTimeout(closeTimeout)
            .handlers(handlers);
    }

    /**
     * Sets the maximum number of deliveries in flight and of running handlers, 1 to 65,535.
     * Default: 64.
     */
    public ClientOptions credit(int credit) {
        this.credit = within("credit", credit, 1, 65_535);
        return this;
    }

    /**
     * Sets the maximum length of a line in both directions: the server's {@code max_line_bytes}.
     * Default: 65,536.
     */
    public ClientOptions maxLineBytes(int bytes) {
        maxLineBytes = within("maxLineBytes", bytes, 1_024, 1 << 30);
        return this;
    }

    /**
     * Sets the maximum number of requests without a reply; further ones fail at once. Default:
     * 4,096.
     */
    public ClientOptions maxPending(int requests) {
        maxPending = within("maxPending", requests, 1, Integer.MAX_VALUE);
        return this;
    }

    /**
     * Sets the bounds of the wait before the next connection attempt. Defaults: 100 ms and 10 s.
     */
    public ClientOptions backoff(Duration min, Duration max) {
        minBackoff = positive("the least backoff", min);
        maxBackoff = positive("the largest backoff", max);
        return this;
    }

    /** Bounds one connection attempt, including the reply to hello. Default: 10 s. */
    public ClientOptions connectTimeout(Duration timeout) {
        connectTimeout = positive("connectTimeout", timeout);
        return this;
    }

    /**
     * Sets the silence after which the client sends a ping. After twice that time the connection is
     * lost. Default: 15 s.
     */
    public ClientOptions keepAlive(Duration silence) {
        keepAlive = positive("keepAlive", silence);
        return this;
    }

    /** Sets how long {@link HyperDelayClient#close} waits for running handlers. Default: 5 s. */
    public ClientOptions closeTimeout(Duration timeout) {
        closeTimeout = positive("closeTimeout", timeout);
        return this;
    }

    /**
     * Sets the executor of the handlers. Default, and null: threads of the client, at most as many
     * as the credit.
     */
    public ClientOptions handlers(Executor handlers) {
        this.handlers = handlers;
        return this;
    }

    private static int within(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " is " + value + ": take " + min + " to " + max);
        }
        return value;
    }

    private static Duration positive(String name, Duration value) {
        if (value.toMillis() < 1) {
            throw new IllegalArgumentException(name + " is " + value + ": take at least a millisecond");
        }
        return value;
    }
}
