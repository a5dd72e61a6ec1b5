package hyperdelay;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The counts of a server: tasks by state.
 *
 * @param orphaned tasks on routes that the server made and no connection has registered
 * @param more whether there are more routes: ask again for those after the last one
 */
public record Stats(
    long waiting,
    long parked,
    @JsonProperty("in_flight") long inFlight,
    long dead,
    long connections,
    @JsonProperty("unknown_acks") long unknownAcks,
    long orphaned,
    List<Route> routes,
    boolean more) {

    public Stats {
        routes = routes == null ? List.of() : List.copyOf(routes);
    }

    /**
     * The counts of a route.
     *
     * @param orphaned whether the server made the route and no connection has it registered
     */
    public record Route(
        @JsonProperty("route_key") String route,
        long waiting,
        long parked,
        @JsonProperty("in_flight") long inFlight,
        long dead,
        long consumers,
        boolean orphaned) {}
}
