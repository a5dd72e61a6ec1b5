package hyperdelay;

/** The client was closed before the call or during it. */
public final class ClientClosedException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    ClientClosedException() {
        super("the client is closed: connect another");
    }
}
