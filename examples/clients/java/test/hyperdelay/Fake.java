package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A server on loopback, with one client. The test sends its lines. */
final class Fake implements AutoCloseable {
    /** Longer than any machine needs. Only a failing test waits this long. */
    static final int PATIENCE_SECONDS = 20;

    private final ServerSocket socket;
    HyperDelayClient client;
    Duration closeTimeout = Duration.ofMillis(1);

    Fake() throws IOException {
        this(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
    }

    /** A fake that accepts connections of this socket, for example encrypted ones. */
    Fake(ServerSocket socket) throws IOException {
        this.socket = socket;
        socket.setSoTimeout(PATIENCE_SECONDS * 1000);
    }

    String address() {
        return "127.0.0.1:" + socket.getLocalPort();
    }

    /** Connects the client with short backoffs. */
    Peer connect(ClientOptions options) throws Exception {
        return connect(options, this::accept);
    }

    Peer connect(ClientOptions options, Callable<Peer> accept) throws Exception {
        if (options.environment == System.getenv()) {
            options.environment = Map.of();
        }
        options.backoff(Duration.ofMillis(1), Duration.ofMillis(10)).closeTimeout(closeTimeout);
        CompletableFuture<HyperDelayClient> connected =
            CompletableFuture.supplyAsync(() -> HyperDelayClient.connect(address(), options), work -> new Thread(work).start());
        Peer peer = accept.call();
        client = await(connected);
        return peer;
    }

    Peer connect() throws Exception {
        return connect(new ClientOptions());
    }

    /** Takes the next connection and answers its hello. */
    Peer accept() throws IOException {
        Peer peer = acceptRaw();
        equal(peer.next("hello").path("protocol").asInt(), 2);
        peer.send("{'kind':'hello','protocol':2,'server':'fake 1'}");
        return peer;
    }

    /** Takes the next connection as a server before protocol 2. */
    Peer acceptAsOld() throws IOException {
        Peer peer = acceptRaw();
        peer.old = true;
        peer.next("hello");
        peer.send("{'kind':'error','code':'unknown_kind','message':'kind is hello'}");
        return peer;
    }

    Peer acceptRaw() throws IOException {
        return new Peer(socket.accept());
    }

    @Override
    public void close() throws IOException {
        socket.close();
        if (client != null) {
            client.close();
        }
    }

    static <T> T await(CompletableFuture<T> future) throws Exception {
        return future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Returns the failure of a future, which must be of this type. */
    static <E extends Throwable> E failure(Class<E> type, CompletableFuture<?> future)
            throws InterruptedException, TimeoutException {
        try {
            Object value = future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            throw new AssertionError("got " + value + ", want " + type);
        } catch (ExecutionException e) {
            return type.cast(e.getCause());
        }
    }

    static void equal(Object got, Object want) {
        if (!want.equals(got)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }

    /** The fake's end of a connection. */
    static final class Peer {
        final Socket socket;
        private final BufferedReader reader;
        /** The peer speaks protocol 1. */
        private boolean old;

        Peer(Socket socket) throws IOException {
            this.socket = socket;
            socket.setSoTimeout(PATIENCE_SECONDS * 1000);
            reader = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        }

        /**
         * Returns the next line, which must be of the kind. Answers and skips keepalive pings,
         * which have no tag.
         */
        JsonNode next(String kind) throws IOException {
            while (true) {
                String line = reader.readLine();
                if (line == null) {
                    throw new AssertionError("the client closed the connection, want " + kind);
                }
                JsonNode got = Wire.parse(line.getBytes(StandardCharsets.UTF_8));
                if (!Wire.text(got, "kind").equals("ping") || got.has("tag")) {
                    equal(Wire.text(got, "kind"), kind);
                    return got;
                }
                send("{'kind':'pong'}");
            }
        }

        /** Sends a line, with quotes in place of its apostrophes. */
        void send(String line) throws IOException {
            socket.getOutputStream().write((line.replace('\'', '"') + "\n").getBytes(StandardCharsets.UTF_8));
        }

        /** Sends an object with the tag of the request. */
        void answer(JsonNode request, String line) throws IOException {
            send(line.substring(0, line.length() - 1) + ",'tag':" + request.get("tag") + "}");
        }

        /** Answers a registration and returns its line. */
        JsonNode register() throws IOException {
            JsonNode got = next("register");
            answer(got, "{'kind':'registered','route_key':" + got.get("route_key") + ",'credit':64}");
            return got;
        }

        void acknowledge(JsonNode schedule) throws IOException {
            String kind = old ? "ack" : "scheduled";
            answer(schedule, "{'kind':'" + kind + "','id':" + schedule.get("id") + ",'route_key':" + schedule.get("route_key")
                + ",'fire_at':" + schedule.get("fire_at") + "}");
        }

        void deliver(String id, int attempt) throws IOException {
            send("{'kind':'delivery','id':'" + id + "','route_key':'r','fire_at':5,'payload_base64':'aGk','compression':'none',"
                + "'attempt':" + attempt + ",'new':[1]}");
        }

        void deliver(String id, String compression, byte[] payload) throws IOException {
            send("{'kind':'delivery','id':'" + id + "','route_key':'r','fire_at':5,'payload_base64':'"
                + Base64.getEncoder().encodeToString(payload) + "','compression':'" + compression + "','attempt':1}");
        }

        /** Returns the next answer to a delivery, which must name it exactly. */
        JsonNode next(String kind, String id, int attempt) throws IOException {
            JsonNode got = next(kind);
            equal(Wire.text(got, "id"), id);
            equal(Wire.text(got, "route_key"), "r");
            equal(got.path("attempt").asInt(), attempt);
            return got;
        }
    }
}
