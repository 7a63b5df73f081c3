// SPDX-License-Identifier: BSL-1.0
// The program in Java of bench/bindings, see there and through.c: Through copy|array N MEMORY DIRECTORY.
// copy: from and to a direct buffer; array: an array of Java's.
import extmem.Context;
import extmem.Options;
import extmem.Sorter;
import extmem.Type;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

public final class Through {
	private static final int EACH = 131072;

	private static long next(long state) {
		return state * 6364136223846793005L + 1442695040888963407L;
	}

	// The bean that tells the time of the process takes a tenth of a second of it.
	private static long hundredths() throws IOException {
		String stat = Files.readString(Path.of("/proc/self/stat"));
		String[] behind = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
		return Long.parseLong(behind[11]) + Long.parseLong(behind[12]);
	}

	private static void show(long back, long last) throws IOException {
		long cpu = hundredths();
		System.out.println("n=" + back + " check=" + Long.toUnsignedString(last) + " cpu=" + cpu / 100 + "."
			+ cpu % 100 / 10 + cpu % 10);
	}

	private static void buffers(Sorter<Long> sorter, long n) throws IOException {
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

	private static void arrays(Sorter<Long> sorter, long n) throws IOException {
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

	public static void main(String[] args) throws IOException {
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
