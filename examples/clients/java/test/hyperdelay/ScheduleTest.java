package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;
import static hyperdelay.Fake.failure;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

final class ScheduleTest {
    private ScheduleTest() {}

    private static Task task(String id) {
        return Task.at(Instant.ofEpochMilli(1732616400000L), "r", "hello".getBytes()).withId(id);
    }

    static void schedule_completes_with_the_reply() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> receipt = fake.client.schedule(task("a"));
            JsonNode got = server.next("schedule");
            equal(Wire.text(got, "id"), "a");
            equal(Wire.text(got, "route_key"), "r");
            equal(got.get("fire_at").longValue(), 1732616400000L);
            equal(Wire.text(got, "payload_base64"), "aGVsbG8=");
            equal(got.has("replace"), false);
            equal(receipt.isDone(), false);
            server.acknowledge(got);
            equal(await(receipt), new Receipt("a", "r", Instant.ofEpochMilli(1732616400000L)));
        }
    }

    static void replies_are_matched_by_tag_in_any_order() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> first = fake.client.schedule(task("first"));
            CompletableFuture<Receipt> second = fake.client.schedule(task("second").replacing());
            JsonNode one = server.next("schedule");
            JsonNode two = server.next("schedule");
            equal(two.get("replace").booleanValue(), true);
            server.acknowledge(two);
            equal(await(second).id(), "second");
            server.acknowledge(one);
            equal(await(first).id(), "first");
        }
    }

    static void a_schedule_without_a_reply_is_sent_again_under_the_same_id_after_a_reconnect() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> receipt = fake.client.schedule(Task.at(Instant.now(), "r", new byte[] {1}));
            JsonNode before = server.next("schedule");
            equal(Wire.text(before, "id").length(), 36);
            server.socket.close();
            server = fake.accept();
            JsonNode after = server.next("schedule");
            equal(after, before);
            server.acknowledge(after);
            equal(await(receipt).id(), Wire.text(before, "id"));
        }
    }

    static void a_schedule_refused_by_a_shutdown_is_sent_on_the_next_connection() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> receipt = fake.client.schedule(task("a"));
            server.answer(server.next("schedule"), "{'kind':'error','code':'shutting_down','message':'later','id':'a'}");
            server.socket.close();
            server = fake.accept();
            server.acknowledge(server.next("schedule"));
            equal(await(receipt).id(), "a");
        }
    }

    static void an_error_of_the_server_is_typed() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> receipt = fake.client.schedule(task("a"));
            server.answer(server.next("schedule"), "{'kind':'error','code':'duplicate_id','message':'taken','hint':7}");
            equal(failure(ServerException.class, receipt).code(), "duplicate_id");
        }
    }

    static void a_line_too_long_for_the_client_is_not_sent() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().maxLineBytes(1024));
            failure(LineTooLongException.class, fake.client.schedule(Task.at(Instant.now(), "r", new byte[1024])));
            fake.client.ping();
            server.next("ping");
        }
    }

    static void a_line_too_long_for_an_old_server_fails_the_longest_pending_request() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> small = fake.client.schedule(task("small"));
            CompletableFuture<Receipt> large = fake.client.schedule(Task.at(Instant.now(), "r", new byte[9000]));
            JsonNode one = server.next("schedule");
            server.next("schedule");
            server.send("{'kind':'error','code':'line_too_long','message':'more than 8192 bytes'}");
            equal(failure(ServerException.class, large).code(), "line_too_long");
            server.acknowledge(one);
            equal(await(small).id(), "small");
        }
    }

    static void fire_at_is_rounded_up() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            fake.client.schedule(Task.at(Instant.ofEpochMilli(1000).plusNanos(1), "r", new byte[0]));
            equal(server.next("schedule").get("fire_at").longValue(), 1001L);
            fake.client.schedule(Task.at(Instant.ofEpochMilli(1000), "r", new byte[0]));
            equal(server.next("schedule").get("fire_at").longValue(), 1000L);
        }
    }

    static void a_cancelled_future_is_not_sent_again() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> receipt = fake.client.schedule(task("a"));
            server.next("schedule");
            receipt.cancel(true);
            server.socket.close();
            server = fake.accept();
            fake.client.schedule(task("b"));
            equal(Wire.text(server.next("schedule"), "id"), "b");
            try {
                receipt.join();
                throw new AssertionError("not cancelled");
            } catch (CancellationException expected) {
                // Expected.
            }
        }
    }

    static void requests_beyond_max_pending_fail_at_once() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().maxPending(1));
            CompletableFuture<Receipt> first = fake.client.schedule(task("first"));
            failure(HyperDelayException.class, fake.client.schedule(task("second")));
            server.acknowledge(server.next("schedule"));
            await(first);
            fake.client.schedule(task("third"));
            equal(Wire.text(server.next("schedule"), "id"), "third");
        }
    }

    static void bad_tasks_are_refused_before_they_are_sent() throws Exception {
        try (Fake fake = new Fake()) {
            fake.connect();
            failure(IllegalArgumentException.class, fake.client.schedule(task("\ud800")));
            try {
                Task.at(Instant.now(), "", new byte[0]);
                throw new AssertionError("a task without a route");
            } catch (IllegalArgumentException expected) {
                // Expected.
            }
        }
    }
}
