package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;
import static hyperdelay.Fake.failure;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

final class ListenTest {
    private ListenTest() {}

    private static final Handler NOTHING = delivery -> null;

    private static <T> T take(BlockingQueue<T> queue) throws InterruptedException {
        T value = queue.poll(Fake.PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (value == null) {
            throw new AssertionError("nothing came");
        }
        return value;
    }

    static void a_delivery_is_acknowledged_after_its_handlers_stage_completes() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().credit(7));
            BlockingQueue<Delivery> began = new LinkedBlockingQueue<>();
            CompletableFuture<Void> finish = new CompletableFuture<>();
            fake.client.listen("r", delivery -> {
                began.add(delivery);
                return finish;
            });
            JsonNode register = server.register();
            equal(register.get("credit").intValue(), 7);
            equal(register.has("mode"), false);
            server.deliver("a", 3);
            Delivery delivery = take(began);
            equal(delivery.id(), "a");
            equal(delivery.route(), "r");
            equal(new String(delivery.payload()), "hi");
            equal(delivery.compression(), "none");
            equal(delivery.attempt(), 3L);
            equal(delivery.fireAt(), Instant.ofEpochMilli(5));
            // An early ack would arrive before this ping.
            fake.client.ping();
            server.next("ping");
            finish.complete(null);
            equal(server.next("ack", "a", 3).has("confirm"), false);
        }
    }

    static void a_delivery_is_acknowledged_after_a_handler_that_blocks_returns() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CountDownLatch finish = new CountDownLatch(1);
            fake.client.listen("r", Handler.of(delivery -> finish.await()));
            server.register();
            server.deliver("a", 1);
            fake.client.ping();
            server.next("ping");
            finish.countDown();
            server.next("ack", "a", 1);
        }
    }

    static void a_delivery_is_given_back_after_an_exception() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            RuntimeException retry = new RetryAfterException(Duration.ofSeconds(5));
            fake.client.listen("r", delivery -> switch (delivery.id()) {
                case "thrown" -> throw new IOException("no");
                case "error" -> throw new AssertionError("no");
                case "failed" -> CompletableFuture.failedFuture(new IOException("no"));
                case "delay" -> throw retry;
                default -> CompletableFuture.failedFuture(new CompletionException(retry));
            });
            server.register();
            for (String id : new String[] {"thrown", "error", "failed"}) {
                server.deliver(id, 1);
                JsonNode nack = server.next("nack", id, 1);
                equal(nack.has("delay_ms"), false);
                equal(nack.has("failed"), false);
            }
            for (String id : new String[] {"delay", "failed with delay"}) {
                server.deliver(id, 2);
                equal(server.next("nack", id, 2).get("delay_ms").intValue(), 5000);
            }
        }
    }

    static void a_delivery_that_is_given_back_unharmed_has_not_failed() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            IOException no = new IOException("no");
            Duration second = Duration.ofSeconds(1);
            fake.client.listen("r", delivery -> switch (delivery.id()) {
                case "plain" -> throw new UnharmedException();
                case "stage" -> CompletableFuture.failedFuture(new CompletionException(new UnharmedException(no)));
                case "inside" -> throw new UnharmedException(new RetryAfterException(second, no));
                default -> throw new RetryAfterException(second, new UnharmedException(no));
            });
            server.register();
            for (String id : new String[] {"plain", "stage", "inside", "outside"}) {
                server.deliver(id, 1);
                JsonNode nack = server.next("nack", id, 1);
                equal(nack.get("failed").booleanValue(), false);
                equal(nack.has("delay_ms"), id.endsWith("side"));
                equal(Wire.text(nack, "reason"), id.equals("plain") ? "" : "no");
            }
        }
    }

    static void a_payload_that_is_not_base64_is_given_back() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            fake.client.listen("r", NOTHING);
            server.register();
            server.send("{'kind':'delivery','id':'a','route_key':'r','fire_at':5,'payload_base64':'*','attempt':1}");
            server.next("nack", "a", 1);
        }
    }

    static void a_handler_can_wait_for_the_removal_of_its_task() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Boolean> removal = new CompletableFuture<>();
            fake.client.listen("r", delivery -> delivery.ack().thenCompose(removed -> {
                removal.complete(removed);
                return delivery.ack();
            }));
            server.register();
            server.deliver("a", 1);
            JsonNode ack = server.next("ack", "a", 1);
            equal(ack.get("confirm").booleanValue(), true);
            server.answer(ack, "{'kind':'acked','id':'a','route_key':'r','removed':true}");
            equal(await(removal), true);
            // Neither the second ack nor its failure sends an answer.
            fake.client.ping();
            server.next("ping");
        }
    }

    static void handlers_run_within_the_credit_and_other_deliveries_are_given_back() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().credit(2));
            AtomicInteger running = new AtomicInteger();
            AtomicInteger most = new AtomicInteger();
            CountDownLatch began = new CountDownLatch(2);
            CountDownLatch finish = new CountDownLatch(1);
            fake.client.listen("r", Handler.of(delivery -> {
                most.accumulateAndGet(running.incrementAndGet(), Math::max);
                began.countDown();
                finish.await();
                running.decrementAndGet();
            }));
            server.register();
            // Two run, two wait, and the fifth has no place.
            for (int i = 1; i <= 5; i++) {
                server.deliver("" + i, 1);
            }
            server.next("nack", "5", 1);
            began.await();
            finish.countDown();
            for (int i = 1; i <= 4; i++) {
                server.next("ack");
            }
            equal(most.get(), 2);
        }
    }

    static void a_subscription_ends_when_its_route_is_lost() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            Subscription subscription = fake.client.listenExclusive("r", NOTHING);
            equal(Wire.text(server.register(), "mode"), "exclusive");
            server.send("{'kind':'unregistered','route_key':'r','reason':'replaced'}");
            server.answer(server.next("ping"), "{'kind':'pong'}");
            equal(failure(RouteLostException.class, subscription.ended()).reason(), "replaced");
        }
    }

    static void a_subscription_ends_when_the_server_refuses_it() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            Subscription subscription = fake.client.listen("r", NOTHING);
            server.answer(server.next("register"), "{'kind':'error','code':'bad_field','message':'no'}");
            server.answer(server.next("ping"), "{'kind':'pong'}");
            equal(failure(ServerException.class, subscription.ended()).code(), "bad_field");
        }
    }

    static void stop_unregisters_and_waits_for_the_handlers() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CountDownLatch began = new CountDownLatch(1);
            CountDownLatch finish = new CountDownLatch(1);
            Subscription subscription = fake.client.listen("r", Handler.of(delivery -> {
                began.countDown();
                finish.await();
            }));
            server.register();
            server.deliver("a", 1);
            began.await();
            CompletableFuture<Void> ended = subscription.stop();
            server.answer(server.next("unregister"), "{'kind':'unregistered','route_key':'r','reason':'asked'}");
            finish.countDown();
            server.next("ack", "a", 1);
            JsonNode ping = server.next("ping");
            equal(ended.isDone(), false);
            server.answer(ping, "{'kind':'pong'}");
            await(ended);
            // The route is free again, and a delivery in between is given back at once.
            server.deliver("b", 1);
            JsonNode nack = server.next("nack", "b", 1);
            equal(nack.get("delay_ms").intValue(), 0);
            equal(nack.get("failed").booleanValue(), false);
            fake.client.listen("r", NOTHING);
            server.register();
        }
    }

    static void close_lets_handlers_finish() throws Exception {
        try (Fake fake = new Fake()) {
            fake.closeTimeout = Duration.ofSeconds(Fake.PATIENCE_SECONDS);
            Fake.Peer server = fake.connect();
            CountDownLatch began = new CountDownLatch(1);
            CountDownLatch finish = new CountDownLatch(1);
            fake.client.listen("r", Handler.of(delivery -> {
                began.countDown();
                finish.await();
            }));
            server.register();
            server.deliver("a", 1);
            began.await();
            CompletableFuture<Void> closed = CompletableFuture.runAsync(fake.client::close, work -> new Thread(work).start());
            server.answer(server.next("unregister"), "{'kind':'unregistered','route_key':'r','reason':'asked'}");
            finish.countDown();
            server.next("ack", "a", 1);
            server.answer(server.next("ping"), "{'kind':'pong'}");
            await(closed);
        }
    }

    static void a_route_is_listened_on_once() throws Exception {
        try (Fake fake = new Fake()) {
            fake.connect();
            fake.client.listen("r", NOTHING);
            failure(HyperDelayException.class, fake.client.listen("r", NOTHING).ended());
        }
    }
}
