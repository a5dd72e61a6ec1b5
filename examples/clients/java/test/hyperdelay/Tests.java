package hyperdelay;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Runs the tests: the static methods of the classes below that are not private and have no
 * parameters.
 */
final class Tests {
    private static final List<Class<?>> CLASSES =
        List.of(ScheduleTest.class, ListenTest.class, ReconnectTest.class, WireTest.class, ProtocolTest.class,
            CompressionTest.class, TokenTest.class, TlsTest.class, TermsTest.class);

    private Tests() {}

    public static void main(String[] args) throws IllegalAccessException {
        // The client logs lost connections and failing handlers, which the tests cause.
        Logger.getLogger("").setLevel(Level.OFF);
        int failed = 0;
        int passed = 0;
        for (Class<?> tests : CLASSES) {
            Method[] methods = tests.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method test : methods) {
                if (test.getParameterCount() > 0 || Modifier.isPrivate(test.getModifiers()) || test.isSynthetic()) {
                    continue;
                }
                try {
                    test.invoke(null);
                    passed++;
                    System.out.println("ok      " + test.getName());
                } catch (InvocationTargetException e) {
                    failed++;
                    System.out.println("FAILED  " + test.getName());
                    e.getCause().printStackTrace(System.out);
                }
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }
}
