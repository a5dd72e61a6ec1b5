package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;
import static hyperdelay.Fake.failure;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;

final class ReconnectTest {
    private ReconnectTest() {}

    static void routes_are_registered_again_after_a_reconnect() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            fake.client.listen("r", delivery -> null);
            server.register();
            for (int i = 0; i < 3; i++) {
                server.socket.close();
                server = fake.accept();
                server.register();
                server.deliver("a", 2);
                server.next("ack", "a", 2);
            }
        }
    }

    static void an_answer_ends_with_the_connection_of_its_delivery() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            Semaphore began = new Semaphore(0);
            Semaphore finish = new Semaphore(0);
            CompletableFuture<Boolean> confirmed = new CompletableFuture<>();
            fake.client.listen("r", delivery -> {
                began.release();
                finish.acquire();
                return delivery.id().equals("plain") ? null : delivery.ack().whenComplete((removed, failure) -> {
                    confirmed.completeExceptionally(failure);
                });
            });
            server.register();
            server.deliver("plain", 1);
            server.deliver("confirmed", 1);
            began.acquire(2);
            server.socket.close();
            server = fake.accept();
            server.register();
            finish.release(2);
            failure(ConnectionLostException.class, confirmed);
            // No ack of either is sent on the new connection.
            fake.client.ping();
            server.next("ping");
        }
    }

    static void the_client_reconnects_until_the_server_accepts() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            fake.client.listen("r", delivery -> null);
            server.register();
            server.socket.close();
            fake.acceptRaw().socket.close();
            Fake.Peer refused = fake.acceptRaw();
            refused.send("{'kind':'error','code':'too_many_connections','message':'later'}");
            refused.socket.close();
            fake.accept().register();
        }
    }

    private static CompletableFuture<HyperDelayClient> connect(String address) {
        return CompletableFuture.supplyAsync(() -> HyperDelayClient.connect(address), work -> new Thread(work).start());
    }

    static void connect_fails_with_the_reason_of_the_refusal() throws Exception {
        try (Fake fake = new Fake()) {
            CompletableFuture<HyperDelayClient> first = connect(fake.address());
            Fake.Peer server = fake.acceptRaw();
            server.send("{'kind':'error','code':'too_many_connections','message':'later'}");
            equal(failure(ServerException.class, first).code(), "too_many_connections");

            CompletableFuture<HyperDelayClient> second = connect(fake.address());
            server = fake.acceptRaw();
            server.next("hello");
            server.socket.close();
            String message = failure(HyperDelayException.class, second).getMessage();
            equal(message.contains("allowed_hosts"), true);

            failure(IllegalArgumentException.class, connect("nowhere"));
        }
    }

    static void a_silent_connection_is_closed() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().keepAlive(Duration.ofMillis(20)));
            fake.client.listen("r", delivery -> null);
            server.next("register");
            // The fake answers no ping and keeps the connection open.
            fake.accept().register();
        }
    }

    static void close_ends_pending_futures() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Receipt> receipt = fake.client.schedule(Task.at(Instant.now(), "r", new byte[0]));
            server.next("schedule");
            Subscription subscription = fake.client.listen("r", delivery -> null);
            server.register();
            fake.client.close();
            failure(ClientClosedException.class, receipt);
            failure(ClientClosedException.class, subscription.ended());
            failure(ClientClosedException.class, fake.client.ping());
        }
    }

    static void a_client_can_be_closed_on_its_own_thread() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Void> closed = fake.client.ping().thenRun(fake.client::close);
            server.answer(server.next("ping"), "{'kind':'pong'}");
            await(closed);
        }
    }

    static void backoff_doubles_up_to_its_maximum_and_is_drawn_from_its_upper_half() {
        Backoff wait = new Backoff(Duration.ofMillis(100), Duration.ofSeconds(1));
        for (long top : new long[] {100, 200, 400, 800, 1000, 1000}) {
            long got = wait.nextMillis();
            equal(top / 2 <= got && got <= top, true);
        }
        wait.reset();
        equal(wait.nextMillis() <= 100, true);
    }
}
