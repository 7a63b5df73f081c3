// SPDX-License-Identifier: BSL-1.0
// As u64.c, in Java: U64 N MEMORY DIRECTORY [array].  With a direct buffer, or, with "array", one of Java's.
import extmem.Context;
import extmem.Options;
import extmem.Sorter;
import extmem.Type;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.List;

public final class U64 {
	private static final int BATCH = 1 << 17;

	private static long random(long x) {
		x ^= x << 13;
		x ^= x >>> 7;
		return x ^ x << 17;
	}

	private static long buffers(Sorter<Long> sorter, long n) {
		ByteBuffer bytes = ByteBuffer.allocateDirect(8 * BATCH).order(ByteOrder.nativeOrder());
		LongBuffer numbers = bytes.asLongBuffer();
		long x = 88172645463325252L, count = 0, sum = 0;
		for (int i = 0; i < BATCH; i++)
			numbers.put(i, x = random(x));
		for (long i = 0; i < n; i += BATCH) {
			numbers.put(0, i * 0x9e3779b97f4a7c15L);
			sorter.pushMany(bytes.clear().limit((int)Math.min(8 * BATCH, 8 * (n - i))));
		}
		for (int got; (got = sorter.read(bytes.clear())) >= 0; count += got)
			sum += numbers.get(0);
		System.out.println(count + " " + Long.toUnsignedString(sum));
		return count;
	}

	private static long arrays(Sorter<Long> sorter, long n) {
		long[] numbers = new long[BATCH];
		long x = 88172645463325252L, count = 0, sum = 0;
		for (int i = 0; i < BATCH; i++)
			numbers[i] = x = random(x);
		for (long i = 0; i < n; i += BATCH) {
			numbers[0] = i * 0x9e3779b97f4a7c15L;
			sorter.pushMany(n - i < BATCH ? java.util.Arrays.copyOf(numbers, (int)(n - i)) : numbers);
		}
		for (int got; (got = sorter.read(numbers)) >= 0; count += got)
			sum += numbers[0];
		System.out.println(count + " " + Long.toUnsignedString(sum));
		return count;
	}

	public static void main(String[] args) {
		long n = Long.parseLong(args[0]);
		try (Context ctx = new Context(Options.of("memory", args[1]).set("dirs", List.of(args[2])));
			Sorter<Long> sorter = new Sorter<>(ctx, Type.U64)) {
			if (args.length > 3 ? arrays(sorter, n) != n : buffers(sorter, n) != n)
				throw new IllegalStateException("numbers are missing");
		}
	}
}
