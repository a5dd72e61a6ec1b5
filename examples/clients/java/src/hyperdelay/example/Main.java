package hyperdelay.example;

import hyperdelay.ClientOptions;
import hyperdelay.HyperDelayClient;
import java.util.concurrent.CompletionException;

/** Schedules tasks on a hyper-delay server, or takes them from it. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        Options options;
        ClientOptions client;
        try {
            options = Options.parse(args);
            client = new ClientOptions().compress(options.compress()).tls(options.tls());
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage() + "\n\n" + Options.USAGE);
            System.exit(2);
            return;
        }
        if (0 < options.count() && options.count() < 64) {
            client.credit(options.count()); // No more deliveries than wanted.
        }
        try (HyperDelayClient connected = HyperDelayClient.connect(options.address(), client)) {
            if (options.command().equals("produce")) {
                Producer.run(connected, options);
            } else {
                new Consumer(connected, options).run();
            }
        } catch (RuntimeException e) {
            Throwable why = e instanceof CompletionException && e.getCause() != null ? e.getCause() : e;
            System.err.println("hyper-delay-example: " + why.getMessage());
            System.exit(1);
        }
    }
}
