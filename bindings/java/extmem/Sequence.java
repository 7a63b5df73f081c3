// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Iterator;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/** What has positions. */
public abstract class Sequence<T> extends Container<T> implements Iterable<T> {
	private static final int CHUNK = 1 << 16;
	private final Functions f;

	@FunctionalInterface
	interface At {
		Object apply(long id, long i);
	}

	@FunctionalInterface
	interface BytesAt {
		Object apply(long id, long i, Object bytes);
	}

	/** What a kind of sequence calls. */
	record Functions(
		LongUnaryOperator size, LongFunction<Object> stats, At get, BytesAt set, BytesAt read, BytesAt write) {}

	Sequence(Functions f, Context ctx, Object opened, Object used, Type<T> type) {
		super(ctx, opened, used, type, f.size, f.stats);
		this.f = f;
	}

	/** Read a record. */
	public final T get(long i) { return one(f.get.apply(id, i)); }

	/** Overwrite a record. */
	public final void set(long i, T record) { done(f.set.apply(id, i, type.encode(record))); }

	/** Fill an array with records from position i on. */
	public final void read(long i, byte[] room) { done(f.read.apply(id, i, room)); }

	/** Fill a buffer from its position to its limit.  A direct one is written without a copy. */
	public final void read(long i, ByteBuffer room) {
		Object memory = Native.room(room);
		done(f.read.apply(id, i, memory));
		Native.written(room, memory, room.remaining());
	}

	/** Overwrite records from position i on. */
	public final void write(long i, byte[] records) { done(f.write.apply(id, i, records)); }

	/** The same with records from the position of a buffer to its limit, which becomes the position. */
	public final void write(long i, ByteBuffer records) {
		done(f.write.apply(id, i, Native.in(records)));
		records.position(records.limit());
	}

	public final void writeAll(long i, Collection<? extends T> records) { write(i, type.encodeAll(records)); }

	/** Reads record after record, many at a time; those that are added meanwhile too. */
	@Override
	public final Iterator<T> iterator() {
		long[] at = {0};
		return new Batches<>(() -> {
			long n = Math.min(Math.max(CHUNK / type.bytes, 1), size() - at[0]);
			if (n <= 0)
				return null;
			byte[] room = new byte[(int)n * type.bytes];
			read(at[0], room);
			at[0] += n;
			return type.decodeAll(room);
		});
	}
}
