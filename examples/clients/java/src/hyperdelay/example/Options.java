package hyperdelay.example;

import hyperdelay.Tls;
import java.nio.file.Path;
import java.time.Duration;

/** The options of the command line. Without TLS, {@code tls} is null. */
record Options(String command, String address, String route, int count, Duration delay, int size, String compress, Tls tls) {
    static final String USAGE = """
        Usage:
          run.sh produce [-addr HOST:PORT] [-route ROUTE] [-count N] [-delay DURATION] [-size BYTES]
                         [-compress none|lz4|zstd] [TLS]
          run.sh consume [-addr HOST:PORT] [-route ROUTE] [-count N] [TLS]

        produce schedules N tasks (10), each to be due after the delay (1s; or 500ms, 2m), with payloads of BYTES or
        more. consume prints the deliveries of the route and acknowledges them; after N it ends, and without -count it
        goes on.

        TLS is -tls, or one or more of -tls-ca FILE, -tls-cert FILE and -tls-key FILE, -tls-name NAME. A token is read
        from HYPER_DELAY_TOKEN, or else from the file that HYPER_DELAY_TOKEN_FILE names.
        """;

    static Options parse(String[] args) {
        if (args.length == 0 || !args[0].matches("produce|consume")) {
            throw new IllegalArgumentException("no subcommand " + String.join(" ", args) + ": take produce or consume");
        }
        String address = "127.0.0.1:7000";
        String route = "demo";
        int count = args[0].equals("produce") ? 10 : 0;
        Duration delay = Duration.ofSeconds(1);
        int size = 0;
        String compress = "none";
        boolean encrypted = false;
        Path ca = null;
        Path cert = null;
        Path key = null;
        String name = null;
        for (int i = 1; i < args.length; i += 2) {
            if (args[i].matches("--?tls")) {
                encrypted = true;
                i--;
                continue;
            }
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(args[i] + " has no value: give one");
            }
            String value = args[i + 1];
            switch (args[i].replaceFirst("^--", "-")) {
                case "-addr" -> address = value;
                case "-route" -> route = value;
                case "-count" -> count = whole("-count", value);
                case "-delay" -> delay = duration(value);
                case "-size" -> size = whole("-size", value);
                case "-compress" -> compress = value;
                case "-tls-ca" -> ca = Path.of(value);
                case "-tls-cert" -> cert = Path.of(value);
                case "-tls-key" -> key = Path.of(value);
                case "-tls-name" -> name = value;
                default -> throw new IllegalArgumentException("no option " + args[i] + ": see the usage");
            }
        }
        Tls tls = new Tls(ca, cert, key, name);
        encrypted |= !tls.equals(Tls.ofSystem());
        return new Options(args[0], address, route, count, delay, size, compress, encrypted ? tls : null);
    }

    private static int whole(String option, String value) {
        if (!value.matches("[0-9]{1,9}")) {
            throw new IllegalArgumentException(option + " is '" + value + "': take a whole number");
        }
        return Integer.parseInt(value);
    }

    private static Duration duration(String value) {
        if (!value.matches("[0-9]{1,9}(ms|s|m|h)")) {
            throw new IllegalArgumentException("-delay is '" + value + "': take a whole number and ms, s, m or h");
        }
        long number = Long.parseLong(value.replaceAll("[a-z]", ""));
        return switch (value.replaceAll("[0-9]", "")) {
            case "ms" -> Duration.ofMillis(number);
            case "s" -> Duration.ofSeconds(number);
            case "m" -> Duration.ofMinutes(number);
            default -> Duration.ofHours(number);
        };
    }
}
