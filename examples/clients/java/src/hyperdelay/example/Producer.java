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

    /** A text, with dots up to the size that was asked for. */
    private static byte[] payload(int number, Options options) {
        String text = "task " + number + " of " + options.count() + ", from Java";
        text += ".".repeat(Math.max(0, options.size() - text.length()));
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static void run(HyperDelayClient client, Options options) {
        Queue<CompletableFuture<Receipt>> underWay = new ArrayDeque<>();
        for (int i = 1; i <= options.count(); i++) {
            if (underWay.size() == UNDER_WAY) {
                underWay.remove().join();
            }
            underWay.add(client.schedule(Task.after(options.delay(), options.route(), payload(i, options))));
        }
        underWay.forEach(CompletableFuture::join);
        System.out.println("scheduled " + options.count() + " tasks on route " + options.route() + ", due after "
            + options.delay().toMillis() + "ms");
    }
}
