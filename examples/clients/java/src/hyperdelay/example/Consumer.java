package hyperdelay.example;

import hyperdelay.Delivery;
import hyperdelay.HyperDelayClient;
import hyperdelay.RetryAfterException;
import hyperdelay.Subscription;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Takes count tasks, or all tasks. Counts those whose removal the server has confirmed. */
final class Consumer {
    private final HyperDelayClient client;
    private final Options options;
    private final CompletableFuture<Void> enough = new CompletableFuture<>();
    private int taken;
    private int done;

    Consumer(HyperDelayClient client, Options options) {
        this.client = client;
        this.options = options;
    }

    void run() {
        Subscription subscription = client.listen(options.route(), this::handle);
        CompletableFuture.anyOf(enough, subscription.ended()).join();
        subscription.stop().join();
        System.out.println("acknowledged " + options.count() + " deliveries on route " + options.route());
    }

    private CompletionStage<?> handle(Delivery delivery) {
        if (!take()) {
            throw new RetryAfterException(Duration.ofMillis(100));
        }
        System.out.println(delivery.id() + " attempt " + delivery.attempt() + ", "
            + Duration.between(delivery.fireAt(), Instant.now()).toMillis() + "ms late: "
            + new String(delivery.payload(), StandardCharsets.UTF_8));
        return delivery.ack().whenComplete((removed, failure) -> settle(failure == null && removed));
    }

    private synchronized boolean take() {
        if (options.count() > 0 && taken == options.count()) {
            return false;
        }
        taken++;
        return true;
    }

    private synchronized void settle(boolean removed) {
        if (!removed) {
            taken--;
        } else if (++done == options.count()) {
            enough.complete(null);
        }
    }
}
