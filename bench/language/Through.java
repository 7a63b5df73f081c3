// SPDX-License-Identifier: BSL-1.0
// The program in Java of bench/bindings, see there and through.c: Through copy|array N MEMORY DIRECTORY.
// copy: from and to a direct buffer; array: an array of Java's.
import extmem.Context;
import extmem.Options;
import extmem.Sorter;
import extmem.Type;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.List;

public final class Through {
	private static final int EACH = 131072;

	private static long next(long state) {
		return state * 6364136223846793005L + 1442695040888963407L;
	}

	private static void show(long back, long last) {
		OperatingSystemMXBean self = (OperatingSystemMXBean)ManagementFactory.getOperatingSystemMXBean();
		System.out.printf("n=%d check=%s cpu=%.3f%n", back, Long.toUnsignedString(last),
			self.getProcessCpuTime() / 1e9);
	}

	private static void buffers(Sorter<Long> sorter, long n) {
		ByteBuffer bytes = ByteBuffer.allocateDirect(8 * EACH).order(ByteOrder.nativeOrder());
		LongBuffer numbers = bytes.asLongBuffer();
		long state = 1, back = 0, last = 0;
		for (int i = 0; i < EACH; i++)
			numbers.put(i, state = next(state));
		for (long i = 0; i < n / EACH; i++) {
			numbers.put((int)(i % EACH), i);
			sorter.pushMany(bytes.clear());
		}
		for (int got; (got = sorter.read(bytes.clear())) >= 0; back += got)
			last = numbers.get(got - 1);
		show(back, last);
	}

	private static void arrays(Sorter<Long> sorter, long n) {
		long[] numbers = new long[EACH];
		long state = 1, back = 0, last = 0;
		for (int i = 0; i < EACH; i++)
			numbers[i] = state = next(state);
		for (long i = 0; i < n / EACH; i++) {
			numbers[(int)(i % EACH)] = i;
			sorter.pushMany(numbers);
		}
		for (int got; (got = sorter.read(numbers)) >= 0; back += got)
			last = numbers[got - 1];
		show(back, last);
	}

	public static void main(String[] args) {
		if (args[0].equals("more"))
			return;
		try (Context ctx = new Context(Options.of("memory", args[2]).set("dirs", List.of(args[3])));
			Sorter<Long> sorter = new Sorter<>(ctx, Type.U64)) {
			if (args[0].equals("array"))
				arrays(sorter, Long.parseLong(args[1]));
			else
				buffers(sorter, Long.parseLong(args[1]));
		}
	}
}
