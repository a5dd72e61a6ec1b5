package hyperdelay;

/** Ends a {@link Subscription}: the server unregistered the route. */
public final class RouteLostException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    private final String route;
    private final String reason;

    RouteLostException(String route, String reason) {
        super("the server unregistered route '" + route + "', reason '" + reason + "': listen again to take it back");
        this.route = route;
        this.reason = reason;
    }

    public String route() {
        return route;
    }

    /** {@code replaced} if another consumer registered the route. Servers may add new reasons. */
    public String reason() {
        return reason;
    }
}
