package hyperdelay;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.nio.file.Path;
import java.util.Objects;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/**
 * An encrypted connection. The files are in PEM and are read for each connection, so that they can
 * be renewed. The key is in PKCS #8 and not encrypted.
 *
 * @param ca the authorities to trust; null: those of the system
 * @param cert the client's certificate; null: none
 * @param key the private key of the certificate
 * @param serverName the name that the server's certificate must have; null: the host
 */
public record Tls(Path ca, Path cert, Path key, String serverName) {
    public Tls {
        if ((cert == null) != (key == null)) {
            throw new IllegalArgumentException("cert is " + cert + " and key is " + key + ": give both, or neither");
        }
    }

    /** Trusts the authorities of the system. */
    public static Tls ofSystem() {
        return new Tls(null, null, null, null);
    }

    /** Trusts the authorities in this file. */
    public static Tls of(Path ca) {
        return new Tls(Objects.requireNonNull(ca, "ca"), null, null, null);
    }

    public Tls withClientCertificate(Path cert, Path key) {
        return new Tls(ca, cert, key, serverName);
    }

    public Tls withServerName(String serverName) {
        return new Tls(ca, cert, key, serverName);
    }

    /** Reads the files and returns the handler of a connection. */
    SslHandler handler(ByteBufAllocator allocator, String host, int port) {
        try {
            SslContextBuilder builder = SslContextBuilder.forClient().sslProvider(SslProvider.JDK)
                .protocols("TLSv1.3", "TLSv1.2");
            if (ca != null) {
                builder.trustManager(ca.toFile());
            }
            if (cert != null) {
                builder.keyManager(cert.toFile(), key.toFile());
            }
            String name = serverName == null ? host : serverName;
            SslHandler handler = builder.build().newHandler(allocator, name, port);
            SSLParameters parameters = handler.engine().getSSLParameters();
            parameters.setApplicationProtocols(new String[] {"hyper-delay"});
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            handler.engine().setSSLParameters(parameters);
            return handler;
        } catch (SSLException | IllegalArgumentException e) {
            Throwable why = e.getCause() == null ? e : e.getCause();
            throw new HyperDelayException("the files of " + this + " cannot be used: " + why.getMessage(), e);
        }
    }
}
