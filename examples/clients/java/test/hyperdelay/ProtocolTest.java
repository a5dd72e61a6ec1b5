package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;
import static hyperdelay.Fake.failure;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

final class ProtocolTest {
    private ProtocolTest() {}

    private static CompletableFuture<Receipt> schedule(Fake fake, String id, int bytes) {
        return fake.client.schedule(Task.after(Duration.ZERO, "r", new byte[bytes]).withId(id));
    }

    private static void schedules(Fake fake, Fake.Peer server) throws Exception {
        CompletableFuture<Receipt> receipt = schedule(fake, "a", 0);
        server.acknowledge(server.next("schedule"));
        equal(await(receipt).id(), "a");
    }

    static void the_version_is_agreed_on_for_each_connection() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            schedules(fake, server);
            server.socket.close();
            server = fake.acceptAsOld();
            schedules(fake, server);
            server.socket.close();
            schedules(fake, fake.accept());
        }
    }

    static void connect_stays_on_protocol_1_with_an_older_server() throws Exception {
        try (Fake fake = new Fake()) {
            schedules(fake, fake.connect(new ClientOptions(), fake::acceptAsOld));
        }
    }

    static void connect_fails_if_the_server_refuses_the_hello() throws Exception {
        try (Fake fake = new Fake()) {
            CompletableFuture<HyperDelayClient> connected = CompletableFuture.supplyAsync(
                () -> HyperDelayClient.connect(fake.address()), work -> new Thread(work).start());
            Fake.Peer server = fake.acceptRaw();
            server.next("hello");
            server.send("{'kind':'error','code':'shutting_down','message':'later'}");
            equal(failure(ServerException.class, connected).code(), "shutting_down");
        }
    }

    static void an_error_with_a_line_number_fails_the_request_on_that_line() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            // Line 1 is the hello. The first request is the longest, but not the one that is
            // refused.
            CompletableFuture<Receipt> first = schedule(fake, "long", 1000);
            JsonNode line = server.next("schedule");
            CompletableFuture<Receipt> second = schedule(fake, "short", 0);
            server.next("schedule");
            server.send("{'kind':'error','code':'line_too_long','message':'?','line':9}");
            server.send("{'kind':'error','code':'line_too_long','message':'?','line':3}");
            ServerException refused = failure(ServerException.class, second);
            equal(refused.code() + refused.line(), "line_too_long3");

            // The numbers start again on the next connection.
            server.socket.close();
            server = fake.accept();
            equal(server.next("schedule").get("id"), line.get("id"));
            server.send("{'kind':'error','code':'bad_json','message':'?','line':3}");
            server.send("{'kind':'error','code':'bad_json','message':'?','line':2}");
            equal(failure(ServerException.class, first).code(), "bad_json");
        }
    }
}
