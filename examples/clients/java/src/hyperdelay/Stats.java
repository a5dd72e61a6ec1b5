package hyperdelay;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The counts of a server: tasks by their state.
 *
 * @param more there are other routes: ask again, after the last one
 */
public record Stats(
    long waiting,
    long parked,
    @JsonProperty("in_flight") long inFlight,
    long dead,
    long connections,
    @JsonProperty("unknown_acks") long unknownAcks,
    List<Route> routes,
    boolean more) {

    public Stats {
        routes = routes == null ? List.of() : List.copyOf(routes);
    }

    /** The counts of a route. */
    public record Route(
        @JsonProperty("route_key") String route,
        long waiting,
        long parked,
        @JsonProperty("in_flight") long inFlight,
        long dead,
        long consumers) {}
}
