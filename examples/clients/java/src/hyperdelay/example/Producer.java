package hyperdelay.example;

import hyperdelay.HyperDelayClient;
import hyperdelay.Receipt;
import hyperdelay.Task;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;

/** Schedules tasks, many at a time, so that the server commits them together. */
final class Producer {
    private static final int UNDER_WAY = 256;

    private Producer() {}

    static void run(HyperDelayClient client, Options options) {
        Queue<CompletableFuture<Receipt>> underWay = new ArrayDeque<>();
        for (int i = 1; i <= options.count(); i++) {
            if (underWay.size() == UNDER_WAY) {
                underWay.remove().join();
            }
            byte[] payload = ("task " + i + " of " + options.count() + ", from Java").getBytes(StandardCharsets.UTF_8);
            underWay.add(client.schedule(Task.after(options.delay(), options.route(), payload)));
        }
        underWay.forEach(CompletableFuture::join);
        System.out.println("scheduled " + options.count() + " tasks on route " + options.route() + ", due after "
            + options.delay().toMillis() + "ms");
    }
}
