package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;
import static hyperdelay.Fake.failure;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

final class TokenTest {
    private TokenTest() {}

    private static Path file(String token) throws IOException {
        Path file = Files.createTempFile("token", "");
        file.toFile().deleteOnExit();
        return Files.writeString(file, token);
    }

    /** Takes the next connection, which must begin with the token. */
    private static Fake.Peer authenticate(Fake fake, String token) throws IOException {
        Fake.Peer peer = fake.acceptRaw();
        JsonNode auth = peer.next("auth");
        equal(Wire.text(auth, "token"), token);
        peer.next("hello");
        peer.answer(auth, "{'kind':'authenticated'}");
        peer.send("{'kind':'hello','protocol':2,'server':'fake 1'}");
        return peer;
    }

    private static CompletableFuture<Receipt> schedule(Fake fake) {
        return fake.client.schedule(Task.after(Duration.ZERO, "r", new byte[0]).withId("a"));
    }

    static void the_token_is_read_for_each_connection_and_precedes_the_hello() throws Exception {
        try (Fake fake = new Fake()) {
            Path file = file(" hd_1_first\n");
            Fake.Peer server = fake.connect(new ClientOptions().tokenFile(file), () -> authenticate(fake, "hd_1_first"));
            CompletableFuture<Receipt> receipt = schedule(fake);
            server.acknowledge(server.next("schedule"));
            equal(await(receipt).id(), "a");
            Files.writeString(file, "hd_2_\"second\"");
            server.socket.close();
            server = authenticate(fake, "hd_2_\"second\"");
            // Line 1 was the token, and line 2 the hello.
            receipt = schedule(fake);
            server.next("schedule");
            server.send("{'kind':'error','code':'bad_json','message':'?','line':3}");
            equal(failure(ServerException.class, receipt).code(), "bad_json");
        }
    }

    static void the_token_comes_from_the_environment_unless_a_file_is_named() throws Exception {
        Map<String, String> environment =
            Map.of(Token.VALUE, "of the environment", Token.FILE, file("of its file").toString());
        equal(Token.read(file("of the options"), environment), "of the options");
        equal(Token.read(null, environment), "of the environment");
        equal(Token.read(null, Map.of(Token.FILE, file("of its file").toString())), "of its file");
        equal(Token.read(null, Map.of()) == null, true);
        try (Fake fake = new Fake()) {
            ClientOptions options = new ClientOptions();
            options.environment = environment;
            fake.connect(options, () -> authenticate(fake, "of the environment"));
        }
    }

    static void a_token_that_is_refused_or_missing_is_an_error() throws Exception {
        try (Fake fake = new Fake()) {
            CompletableFuture<HyperDelayClient> connected = connect(fake, file("wrong"));
            Fake.Peer server = fake.acceptRaw();
            server.answer(server.next("auth"), "{'kind':'error','code':'forbidden','message':'no'}");
            equal(failure(ServerException.class, connected).code(), "forbidden");
            for (Path file : new Path[] {Path.of("/missing/token"), file(" \n")}) {
                String why = failure(HyperDelayException.class, connect(fake, file)).getMessage();
                equal(why.contains(file.toString()), true);
            }
        }
    }

    private static CompletableFuture<HyperDelayClient> connect(Fake fake, Path token) {
        ClientOptions options = new ClientOptions().tokenFile(token);
        return CompletableFuture.supplyAsync(
            () -> HyperDelayClient.connect(fake.address(), options), work -> new Thread(work).start());
    }

    static void a_server_that_knows_no_tokens_is_greeted_all_the_same() throws Exception {
        try (Fake fake = new Fake()) {
            fake.connect(new ClientOptions().tokenFile(file("x")), () -> {
                Fake.Peer peer = fake.acceptRaw();
                peer.answer(peer.next("auth"), "{'kind':'error','code':'unknown_kind','message':'?'}");
                peer.next("hello");
                peer.send("{'kind':'error','code':'unknown_kind','message':'?'}");
                return peer;
            });
        }
    }

    static void a_token_is_not_sent_without_tls_to_another_machine() {
        InetSocketAddress far = new InetSocketAddress("192.0.2.1", 7000);
        Token.requireSecret(far, true);
        Token.requireSecret(new InetSocketAddress("::1", 7000), false);
        try {
            Token.requireSecret(far, false);
            throw new AssertionError("it was sent");
        } catch (HyperDelayException expected) {
            equal(expected.getMessage().contains("ClientOptions.tls"), true);
        }
    }
}
