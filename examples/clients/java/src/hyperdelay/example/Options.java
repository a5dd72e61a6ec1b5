package hyperdelay.example;

import java.time.Duration;

/** The options of the command line. */
record Options(String command, String address, String route, int count, Duration delay) {
    static final String USAGE = """
        Usage:
          run.sh produce [-addr HOST:PORT] [-route ROUTE] [-count N] [-delay DURATION]
          run.sh consume [-addr HOST:PORT] [-route ROUTE] [-count N]

        produce schedules N tasks (10), each to be due after the delay (1s; or 500ms, 2m). consume prints the deliveries
        of the route and acknowledges them; after N it ends, and without -count it goes on.
        """;

    static Options parse(String[] args) {
        if (args.length == 0 || !args[0].matches("produce|consume")) {
            throw new IllegalArgumentException("no subcommand " + String.join(" ", args) + ": take produce or consume");
        }
        String address = "127.0.0.1:7000";
        String route = "demo";
        int count = args[0].equals("produce") ? 10 : 0;
        Duration delay = Duration.ofSeconds(1);
        for (int i = 1; i < args.length; i += 2) {
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(args[i] + " has no value: give one");
            }
            String value = args[i + 1];
            switch (args[i].replaceFirst("^--", "-")) {
                case "-addr" -> address = value;
                case "-route" -> route = value;
                case "-count" -> count = count(value);
                case "-delay" -> delay = duration(value);
                default -> throw new IllegalArgumentException("no option " + args[i] + ": see the usage");
            }
        }
        return new Options(args[0], address, route, count, delay);
    }

    private static int count(String value) {
        if (!value.matches("[0-9]{1,9}")) {
            throw new IllegalArgumentException("-count is '" + value + "': take a whole number");
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
