package hyperdelay;

import static hyperdelay.Fake.equal;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

final class CompressionTest {
    private static final int ENOUGH = 1 << 20;
    /** By other programs. LZ4 with linked blocks is not read. */
    private static final List<String> FOREIGN = List.of("independent.lz4", "checked.zst", "streamed.zst");

    private CompressionTest() {}

    private static Path path(String name) {
        return Path.of("../../../crates/hyper-delay/tests/fixtures/payloads", name);
    }

    private static byte[] payload(String name) throws IOException {
        return Files.readAllBytes(path(name));
    }

    private static String compressionOf(String name) {
        return name.endsWith(".lz4") ? "lz4" : "zstd";
    }

    private static void refused(byte[] payload, String compression, int max, String why) {
        try {
            Compression.decompress(payload, compression, max);
        } catch (IOException e) {
            if (e.getMessage().contains(why)) {
                return;
            }
            throw new AssertionError(e);
        }
        throw new AssertionError(compression + " was taken, want " + why);
    }

    static void payloads_of_every_program_are_decompressed() throws IOException {
        byte[] text = payload("text");
        for (String name : List.of("independent.lz4", "checked.zst", "streamed.zst", "java.lz4", "java.zst", "go.lz4",
             "go.zst", "rust.lz4", "rust.zst")) {
            equal(name + Arrays.equals(Compression.decompress(payload(name), compressionOf(name), ENOUGH), text), name + true);
        }
    }

    static void what_is_compressed_decompresses_to_the_same() throws IOException {
        for (String name : List.of("java.lz4", "java.zst")) {
            String compression = compressionOf(name);
            byte[] sevens = new byte[256];
            Arrays.fill(sevens, (byte) 7);
            for (byte[] content : List.of(payload("text"), sevens)) {
                Compression.Sent sent = Compression.compress(content, compression);
                equal(sent.compression(), compression);
                equal(sent.payload().length < content.length, true);
                equal(Arrays.equals(Compression.decompress(sent.payload(), compression, content.length), content), true);
            }
            if (System.getenv("HYPER_DELAY_WRITE_PAYLOADS") != null) {
                Files.write(path(name), Compression.compress(payload("text"), compression).payload());
            }
        }
    }

    static void payloads_that_would_not_become_smaller_are_sent_as_they_are() {
        byte[] random = new byte[1000];
        new Random(1).nextBytes(random);
        for (String compression : List.of("none", "lz4", "zstd")) {
            for (byte[] content : List.of(new byte[0], new byte[255], random)) {
                Compression.Sent sent = Compression.compress(content, compression);
                equal(sent.compression(), "none");
                equal(sent.payload() == content, true);
            }
        }
    }

    static void a_payload_is_decompressed_up_to_the_maximum() throws IOException {
        byte[] text = payload("text");
        for (String name : FOREIGN) {
            equal(Compression.decompress(payload(name), compressionOf(name), text.length).length, text.length);
            refused(payload(name), compressionOf(name), text.length - 1, "maxPayloadBytes");
        }
        for (String name : List.of("zeros.lz4", "zeros.zst")) {
            refused(payload(name), compressionOf(name), ENOUGH, "maxPayloadBytes");
        }
    }

    static void payloads_that_are_cut_or_damaged_are_refused() throws IOException {
        Random random = new Random(1);
        for (String name : FOREIGN) {
            byte[] whole = payload(name);
            for (int end = 0; end < whole.length; end += 61) {
                refused(Arrays.copyOf(whole, end), compressionOf(name), ENOUGH, "not one whole");
            }
            for (int i = 0; i < 300; i++) {
                byte[] damaged = whole.clone();
                for (int n = random.nextInt(4); n >= 0; n--) {
                    damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
                }
                try {
                    equal(Compression.decompress(damaged, compressionOf(name), ENOUGH).length <= ENOUGH, true);
                } catch (IOException expected) {
                    // Most are refused.
                }
            }
        }
        refused(payload("linked.lz4"), "lz4", ENOUGH, "not one whole");
    }

    static void a_scheduled_payload_is_compressed_unless_its_task_names_a_compression() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().compress("zstd"));
            byte[] content = "hello ".repeat(100).getBytes();
            Task task = Task.after(Duration.ZERO, "r", content);
            fake.client.schedule(task);
            JsonNode got = server.next("schedule");
            equal(Wire.text(got, "compression"), "zstd");
            byte[] sent = Base64.getDecoder().decode(Wire.text(got, "payload_base64"));
            equal(sent.length < content.length, true);
            equal(Arrays.equals(Compression.decompress(sent, "zstd", ENOUGH), content), true);
            fake.client.schedule(task.withCompression("lz4"));
            got = server.next("schedule");
            equal(Wire.text(got, "compression"), "lz4");
            equal(Wire.text(got, "payload_base64"), Base64.getEncoder().encodeToString(content));
        }
    }

    static void a_delivery_is_decompressed_or_given_back() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            BlockingQueue<Delivery> heard = new LinkedBlockingQueue<>();
            fake.client.listen("r", Handler.of(heard::add));
            server.register();
            for (String name : FOREIGN) {
                server.deliver(name, compressionOf(name), payload(name));
                Delivery delivery = heard.poll(Fake.PATIENCE_SECONDS, TimeUnit.SECONDS);
                equal(delivery.compression(), "none");
                equal(Arrays.equals(delivery.payload(), payload("text")), true);
                server.next("ack", name, 1);
            }
            server.deliver("damaged", "lz4", "hello".getBytes());
            server.next("nack", "damaged", 1);
            // The handler has not run. A compression of a newer server is delivered as it is.
            server.deliver("new", "brotli", "hello".getBytes());
            Delivery delivery = heard.poll(Fake.PATIENCE_SECONDS, TimeUnit.SECONDS);
            equal(delivery.id() + delivery.compression() + new String(delivery.payload()), "newbrotlihello");
        }
    }

    static void a_delivery_is_kept_compressed_on_request() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().keepCompressed(true));
            BlockingQueue<Delivery> heard = new LinkedBlockingQueue<>();
            Subscription subscription = fake.client.listen("r", Handler.of(heard::add));
            server.register();
            server.deliver("a", "lz4", "hello".getBytes());
            Delivery delivery = heard.poll(Fake.PATIENCE_SECONDS, TimeUnit.SECONDS);
            equal(delivery.compression() + new String(delivery.payload()), "lz4hello");
            equal(subscription.hasEnded(), false);
        }
    }

    static void an_unknown_compression_is_refused() {
        try {
            new ClientOptions().compress("gzip");
            throw new AssertionError("gzip was taken");
        } catch (IllegalArgumentException expected) {
            equal(expected.getMessage().contains("'gzip'"), true);
        }
    }
}
