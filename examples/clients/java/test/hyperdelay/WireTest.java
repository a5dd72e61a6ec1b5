package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.concurrent.CompletableFuture;

final class WireTest {
    private WireTest() {}

    static void unknown_kinds_and_lines_that_are_not_json_or_too_long_are_ignored() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().maxLineBytes(1024));
            CompletableFuture<Void> pong = fake.client.ping();
            JsonNode ping = server.next("ping");
            server.send("{'kind':'news','id':17,'route_key':[]}");
            server.send("{'kind':'news','tag':'17'}");
            server.send("no json {0}");
            server.send("[]\r\n\r\n");
            server.send("x".repeat(5000));
            server.answer(ping, "{'kind':'pong','new':{}}");
            await(pong);
        }
    }

    static void the_longest_allowed_line_is_read() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect(new ClientOptions().maxLineBytes(1024));
            CompletableFuture<Void> pong = fake.client.ping();
            String tag = Wire.text(server.next("ping"), "tag");
            String line = "{'kind':'pong','tag':'" + tag + "','new':''}";
            server.send(line.replace("''}", "'" + "x".repeat(1024 - line.length()) + "'}") + "\r");
            await(pong);
        }
    }

    static void stats_and_cancel_decode_their_replies() throws Exception {
        try (Fake fake = new Fake()) {
            Fake.Peer server = fake.connect();
            CompletableFuture<Stats> stats = fake.client.statsAfter("a");
            JsonNode request = server.next("stats");
            equal(Wire.text(request, "after"), "a");
            server.answer(request, "{'kind':'stats','waiting':1,'parked':2,'in_flight':3,'dead':4,'connections':5,"
                + "'unknown_acks':6,'orphaned':7,'x':8,'more':true,'routes':[{'route_key':'b','waiting':1,'parked':2,'in_flight':3,"
                + "'dead':4,'consumers':5,'orphaned':true,'x':null}]}");
            equal(await(stats), new Stats(1, 2, 3, 4, 5, 6, 7, List.of(new Stats.Route("b", 1, 2, 3, 4, 5, true)), true));

            CompletableFuture<Cancelled> cancelled = fake.client.cancel("r", "a");
            request = server.next("cancel");
            equal(Wire.text(request, "id") + Wire.text(request, "route_key"), "ar");
            server.answer(request, "{'kind':'cancelled','id':'a','route_key':'r','found':true,'in_flight':true}");
            equal(await(cancelled), new Cancelled(true, true));
        }
    }
}
