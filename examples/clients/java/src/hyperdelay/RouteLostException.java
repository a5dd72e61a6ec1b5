package hyperdelay;

/** Ends a {@link Subscription}: the server took the route away. */
public final class RouteLostException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    private final String route;
    private final String reason;

    RouteLostException(String route, String reason) {
        super("the server took route '" + route + "' away, reason '" + reason + "': listen again to take it back");
        this.route = route;
        this.reason = reason;
    }

    public String route() {
        return route;
    }

    /** {@code replaced} if another consumer registered for the route. New reasons may be added. */
    public String reason() {
        return reason;
    }
}
