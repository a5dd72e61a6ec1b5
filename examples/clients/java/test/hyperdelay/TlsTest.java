package hyperdelay;

import static hyperdelay.Fake.await;
import static hyperdelay.Fake.equal;
import static hyperdelay.Fake.failure;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

final class TlsTest {
    private static final char[] PASSWORD = "changeit".toCharArray();
    private static final Identity SERVER = new Identity();
    private static final Identity CLIENT = new Identity();

    private TlsTest() {}

    /** A certificate that signs itself, for this machine, with its files in PEM. */
    private static final class Identity {
        final KeyStore store;
        final Path cert;
        final Path key;

        Identity() {
            try {
                Path folder = Files.createTempDirectory("identity");
                folder.toFile().deleteOnExit();
                Path file = folder.resolve("store");
                int status = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-genkeypair", "-alias", "it", "-keyalg", "EC", "-validity", "36500", "-dname", "CN=it",
                    "-ext", "san=ip:127.0.0.1,dns:tasks.internal", "-storetype", "PKCS12", "-keystore", file.toString(),
                    "-storepass", new String(PASSWORD)).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
                equal(status, 0);
                store = KeyStore.getInstance(file.toFile(), PASSWORD);
                cert = pem(folder.resolve("cert.pem"), "CERTIFICATE", store.getCertificate("it").getEncoded());
                key = pem(folder.resolve("key.pem"), "PRIVATE KEY", store.getKey("it", PASSWORD).getEncoded());
                file.toFile().delete();
            } catch (IOException | GeneralSecurityException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private static Path pem(Path file, String kind, byte[] der) throws IOException {
            String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
            file.toFile().deleteOnExit();
            return Files.writeString(file, "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n");
        }
    }

    /** A fake with TLS, which requires the certificate of the client if {@code asks} is true. */
    private static Fake fake(boolean asks) throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(SERVER.store, PASSWORD);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("it", CLIENT.store.getCertificate("it"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        SSLServerSocket socket = (SSLServerSocket) context.getServerSocketFactory()
            .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {"hyper-delay"});
        parameters.setNeedClientAuth(asks);
        socket.setSSLParameters(parameters);
        return new Fake(socket);
    }

    private static void schedules(Fake fake, Fake.Peer server) throws Exception {
        CompletableFuture<Receipt> receipt = fake.client.schedule(Task.after(Duration.ZERO, "r", new byte[0]).withId("a"));
        server.acknowledge(server.next("schedule"));
        equal(await(receipt).id(), "a");
    }

    static void the_connection_is_encrypted_also_after_a_reconnect() throws Exception {
        try (Fake fake = fake(false)) {
            Fake.Peer server = fake.connect(new ClientOptions().tls(Tls.of(SERVER.cert)));
            schedules(fake, server);
            equal(((SSLSocket) server.socket).getApplicationProtocol(), "hyper-delay");
            server.socket.close();
            schedules(fake, fake.accept());
        }
    }

    static void a_client_certificate_is_sent() throws Exception {
        try (Fake fake = fake(true)) {
            Tls tls = Tls.of(SERVER.cert).withClientCertificate(CLIENT.cert, CLIENT.key);
            schedules(fake, fake.connect(new ClientOptions().tls(tls)));
        }
    }

    static void the_certificate_must_have_the_name_of_the_host_or_the_one_that_is_set() throws Exception {
        try (Fake fake = fake(false)) {
            Tls named = Tls.of(SERVER.cert).withServerName("tasks.internal");
            schedules(fake, fake.connect(new ClientOptions().tls(named)));
            refused(fake, named.withServerName("other.internal"), "other.internal");
        }
    }

    static void a_server_of_another_authority_is_not_trusted() throws Exception {
        try (Fake fake = fake(false)) {
            refused(fake, Tls.of(CLIENT.cert), "no TLS");
            refused(fake, Tls.ofSystem(), "no TLS");
        }
    }

    static void files_that_cannot_be_used_are_named() throws Exception {
        try (Fake fake = fake(false)) {
            for (Tls tls : new Tls[] {
                Tls.of(Path.of("/missing/ca.pem")),
                Tls.of(SERVER.key),
                Tls.of(SERVER.cert).withClientCertificate(CLIENT.cert, Path.of("/missing/key.pem")),
            }) {
                String file = tls.key() == null ? tls.ca().toString() : tls.key().toString();
                String why = failure(HyperDelayException.class, connect(fake, tls)).getMessage();
                equal(why.contains(file), true);
            }
        }
        try {
            Tls.of(SERVER.cert).withClientCertificate(CLIENT.cert, null);
            throw new AssertionError("a certificate without a key was taken");
        } catch (IllegalArgumentException expected) {
            // Expected.
        }
    }

    private static CompletableFuture<HyperDelayClient> connect(Fake fake, Tls tls) {
        ClientOptions options = new ClientOptions().tls(tls);
        return CompletableFuture.supplyAsync(
            () -> HyperDelayClient.connect(fake.address(), options), work -> new Thread(work).start());
    }

    private static void refused(Fake fake, Tls tls, String text) throws Exception {
        CompletableFuture<HyperDelayClient> connected = connect(fake, tls);
        try {
            fake.acceptRaw().next("hello");
            throw new AssertionError("the hello came");
        } catch (IOException expected) {
            // The handshake fails.
        }
        String why = failure(HyperDelayException.class, connected).getMessage();
        equal(why + why.contains(text), why + true);
    }
}
