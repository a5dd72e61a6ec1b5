package hyperdelay;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/**
 * Runs at most as many handlers as the credit at a time, and answers their deliveries. More
 * deliveries than the credit can wait: the server counts a delivery until its ack timeout, while
 * its handler may run longer. For the client's thread.
 */
final class Handling {
    private record Waiting(Subscription subscription, Delivery delivery) {}

    private final ClientOptions options;
    private final int credit;
    private final int maxLineBytes;
    private final Executor handlers;
    private final Executor loop;
    /** Receives a stopped subscription after its last handler has ended. */
    private final Consumer<Subscription> idle;
    private final Queue<Waiting> waiting = new ArrayDeque<>();
    private int running;

    Handling(ClientOptions options, Executor loop, Consumer<Subscription> idle) {
        this.options = options;
        credit = options.credit;
        maxLineBytes = options.maxLineBytes;
        handlers = options.handlers;
        this.loop = loop;
        this.idle = idle;
    }

    void take(Subscription subscription, Delivery delivery) {
        try {
            delivery.decode();
        } catch (IllegalArgumentException e) {
            HyperDelayClient.LOG.log(Level.WARNING, "the payload of " + delivery + " cannot be read", e);
            giveBack(delivery, null, e, true);
            return;
        }
        if (running < credit) {
            start(subscription, delivery);
        } else if (waiting.size() < credit) {
            waiting.add(new Waiting(subscription, delivery));
        } else {
            giveBack(delivery, null, null, false);
        }
    }

    /** Removes the waiting deliveries of a session that has ended. */
    void ended(Session session) {
        waiting.removeIf(one -> one.delivery.session == session);
    }

    /** Gives back the waiting deliveries. */
    void stopped(Subscription subscription) {
        for (Iterator<Waiting> all = waiting.iterator(); all.hasNext(); ) {
            Waiting one = all.next();
            if (one.subscription == subscription) {
                all.remove();
                giveBack(one.delivery, Duration.ZERO, null, false);
            }
        }
    }

    private void start(Subscription subscription, Delivery delivery) {
        running++;
        subscription.running++;
        CompletableFuture<Void> done = new CompletableFuture<>();
        done.whenCompleteAsync((nothing, failure) -> finished(subscription, delivery, failure), loop);
        try {
            handlers.execute(() -> run(subscription.handler, delivery, options, done));
        } catch (RejectedExecutionException e) {
            done.completeExceptionally(e);
        }
    }

    /** Runs on a thread of the handlers. */
    private static void run(Handler handler, Delivery delivery, ClientOptions options, CompletableFuture<Void> done) {
        try {
            delivery.decompress(options);
            CompletionStage<?> stage = handler.handle(delivery);
            if (stage == null) {
                done.complete(null);
            } else {
                stage.whenComplete((value, failure) -> {
                    if (failure == null) {
                        done.complete(null);
                    } else {
                        done.completeExceptionally(failure);
                    }
                });
            }
        } catch (Throwable failure) {
            done.completeExceptionally(failure);
        }
    }

    private void finished(Subscription subscription, Delivery delivery, Throwable failure) {
        running--;
        subscription.running--;
        if (failure == null) {
            if (delivery.takeAnswer()) {
                tell(delivery.session, delivery.answer("ack"));
            }
        } else {
            Duration delay = delayOf(failure);
            if (delay == null) {
                HyperDelayClient.LOG.log(Level.WARNING, "the handler of " + delivery + " failed", failure);
            }
            giveBack(delivery, delay, failure, !isUnharmed(failure));
        }
        if (!waiting.isEmpty()) {
            Waiting next = waiting.remove();
            start(next.subscription, next.delivery);
        }
        if (subscription.stopped && subscription.running == 0) {
            idle.accept(subscription);
        }
    }

    /**
     * Gives a delivery back. A delay of null means the server's backoff, or at once for other
     * consumers if it has not failed. Operators see the message of the cause.
     */
    void giveBack(Delivery delivery, Duration delay, Throwable cause, boolean failed) {
        if (delivery.takeAnswer()) {
            ObjectNode nack = delivery.answer("nack");
            if (delay != null) {
                nack.put("delay_ms", delay.toMillis());
            }
            if (!failed) {
                nack.put("failed", false);
            }
            String reason = reason(cause);
            if (!reason.isEmpty()) {
                nack.put("reason", reason);
            }
            tell(delivery.session, nack);
        }
    }

    /**
     * Sends a request that has no reply, on the session of its delivery only: the delivery ends
     * with that session.
     */
    private void tell(Session session, ObjectNode answer) {
        if (session.isOpen()) {
            session.send(Wire.line(answer, maxLineBytes));
        }
    }

    /** Returns the first line of the message of a cause, of at most 256 bytes. */
    static String reason(Throwable cause) {
        while (cause instanceof RetryAfterException || cause instanceof UnharmedException
            || cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        String text = cause == null ? "" : cause.getMessage() == null ? cause.toString() : cause.getMessage();
        StringBuilder kept = new StringBuilder();
        int bytes = 0;
        for (int point : text.lines().findFirst().orElse("").codePoints().toArray()) {
            // Half of a surrogate pair is no text.
            int valid = Character.getType(point) == Character.SURROGATE ? '?' : point;
            bytes += Character.toString(valid).getBytes(StandardCharsets.UTF_8).length;
            if (bytes > 256) {
                break;
            }
            kept.appendCodePoint(valid);
        }
        return kept.toString();
    }

    private static boolean isUnharmed(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof UnharmedException) {
                return true;
            }
        }
        return false;
    }

    private static Duration delayOf(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof RetryAfterException retry) {
                return retry.delay();
            }
        }
        return null;
    }
}
