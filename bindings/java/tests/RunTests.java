// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;

/** Runs all scenarios, and the methods of Usage. */
final class RunTests {
	interface Body {
		void run(Path dir) throws Exception;
	}

	private static int passed, failed;

	private static void one(String name, Body body) throws IOException {
		Path dir = Files.createTempDirectory("extmem-java");
		try {
			body.run(dir);
			passed++;
			System.out.println("ok " + name);
		} catch (Throwable e) {
			failed++;
			System.out.println("FAILED " + name);
			e.printStackTrace(System.out);
		}
		try (Stream<Path> all = Files.walk(dir)) {
			for (Path p : all.sorted(Comparator.reverseOrder()).toList())
				Files.delete(p);
		}
	}

	public static void main(String[] args) throws IOException {
		int scenarios = 0;
		for (String line : Files.readAllLines(Path.of(args[0]))) {
			if (line.isEmpty() || line.startsWith("#"))
				continue;
			String[] fields = line.split("\t", -1);
			scenarios++;
			one(fields[0],
				dir -> Scenarios.check(fields[1], Arrays.copyOfRange(fields, 2, fields.length), dir));
		}
		if (scenarios < 30)
			throw new AssertionError("scenarios are missing");
		Method[] methods = Usage.class.getDeclaredMethods();
		Arrays.sort(methods, Comparator.comparing(Method::getName));
		for (Method m : methods) {
			if (m.isSynthetic() || m.getReturnType() != void.class || m.getParameterCount() != 1 ||
				m.getParameterTypes()[0] != Path.class)
				continue;
			one(m.getName(), dir -> {
				try {
					m.invoke(null, dir);
				} catch (InvocationTargetException e) {
					throw new Exception(e.getCause());
				}
			});
		}
		System.out.println(passed + " passed, " + failed + " failed");
		System.exit(failed == 0 ? 0 : 1);
	}
}
