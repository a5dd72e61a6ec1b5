package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;
import static hyperdelay.Fake.failure;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

final class TermsTest {
    private TermsTest() {}

    static void a_task_can_have_headers_and_terms() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            Task task = Task.after(Duration.ZERO, "r", new byte[0]);
            fake.client.schedule(task.withHeader("traceparent", "00-a").withTerms(Terms.NONE
                .withExpiresAt(Instant.ofEpochMilli(5000)).withAckTimeout(Duration.ofNanos(1_500_000)).withMaxAttempts(3)
                .withRetryDelay(Duration.ofSeconds(1), Duration.ofMinutes(1))).replacing());
            JsonNode got = server.next("schedule");
            Map.of("expires_at", 5000, "ack_timeout_ms", 2, "max_attempts", 3, "retry_delay_ms", 1000,
                "max_retry_delay_ms", 60_000).forEach((field, want) -> equal(field + got.get(field), field + want));
            equal(got.get("headers").toString(), "{\"traceparent\":\"00-a\"}");
            fake.client.schedule(task);
            JsonNode plain = server.next("schedule");
            for (String field : new String[] {"headers", "expires_at", "ack_timeout_ms", "max_attempts", "retry_delay_ms"}) {
                equal(field + plain.has(field), field + false);
            }
            failure(IllegalArgumentException.class, fake.client.schedule(task.withHeader("a", "\ud800")));
        }
    }

    static void a_handler_reads_headers_and_extends_its_time() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Delivery> heard = new CompletableFuture<>();
            CompletableFuture<Void> done = new CompletableFuture<>();
            fake.client.listen("r", delivery -> {
                heard.complete(delivery);
                return done;
            });
            server.register();
            server.send("{'kind':'delivery','id':'a','route_key':'r','fire_at':5,'payload_base64':'','attempt':1,"
                + "'headers':{'b':'c'}}");
            Delivery delivery = await(heard);
            equal(delivery.headers(), Map.of("b", "c"));
            CompletableFuture<Instant> until = delivery.touch(null);
            JsonNode touch = server.next("touch", "a", 1);
            equal(touch.has("extend_ms"), false);
            server.answer(touch, "{'kind':'touched','id':'a','route_key':'r','attempt':1,'found':true,'deadline':7000}");
            equal(await(until), Instant.ofEpochMilli(7000));
            until = delivery.touch(Duration.ofMinutes(1));
            touch = server.next("touch", "a", 1);
            equal(touch.get("extend_ms").intValue(), 60_000);
            server.answer(touch, "{'kind':'touched','id':'a','found':false}");
            failure(IllegalStateException.class, until);
            done.complete(null);
            server.next("ack", "a", 1);
        }
    }

    static void the_message_of_a_failure_is_the_reason_of_its_nack() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            fake.client.listen("r", delivery -> switch (delivery.id()) {
                case "delay" -> throw new RetryAfterException(Duration.ofSeconds(1), new IOException("no disk"));
                case "silent" -> throw new RetryAfterException(Duration.ofSeconds(1));
                default -> CompletableFuture.failedFuture(new IOException("no\nmore"));
            });
            server.register();
            server.deliver("delay", 1);
            equal(Wire.text(server.next("nack", "delay", 1), "reason"), "no disk");
            server.deliver("silent", 1);
            equal(server.next("nack", "silent", 1).has("reason"), false);
            server.deliver("other", 1);
            equal(Wire.text(server.next("nack", "other", 1), "reason"), "no");
        }
        equal(Handling.reason(new CompletionException(new IOException("\u00fc".repeat(200) + "x"))), "\u00fc".repeat(128));
        equal(Handling.reason(new IOException("a\ud800")), "a?");
        equal(Handling.reason(new IOException()), "java.io.IOException");
        equal(Handling.reason(null), "");
    }
}
