// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Iterator;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** What has positions. */
public abstract class Sequence<T> extends Container<T> implements Iterable<T> {
	private static final int CHUNK = 1 << 16;
	private final Functions f;

	interface At { Object apply(Handle of, long i); }

	interface BytesAt { Object apply(Handle of, long i, Object bytes); }

	/** What a kind of sequence calls. */
	record Functions(BiFunction<Handle, Options, Object> open, ToLongFunction<Handle> size,
		Function<Handle, Object> stats, At get, BytesAt set, BytesAt read, BytesAt write) {}

	Sequence(Functions f, Context ctx, Type<T> type, Options opts) {
		super(ctx, type, f.open, f.size, f.stats, opts);
		this.f = f;
	}

	/** Read a record. */
	public final T get(long i) { return one(f.get.apply(this, i)); }

	/** Overwrite a record. */
	public final void set(long i, T record) { f.set.apply(this, i, type.encode(record)); }

	/** Fill an array with records from position i on. */
	public final void read(long i, byte[] room) { f.read.apply(this, i, room); }

	/** Fill a buffer from its position to its limit.  A direct one is written without a copy. */
	public final void read(long i, ByteBuffer room) {
		Native.fill(room, 1, memory -> {
			f.read.apply(this, i, memory);
			return (long)room.remaining();
		});
	}

	/** Overwrite records from position i on. */
	public final void write(long i, byte[] records) { f.write.apply(this, i, records); }

	/** The same with records from the position of a buffer to its limit, which becomes the position. */
	public final void write(long i, ByteBuffer records) {
		Native.drain(records, all -> f.write.apply(this, i, all));
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
			byte[] room = type.room(n);
			read(at[0], room);
			at[0] += n;
			return type.decodeAll(room);
		});
	}
}
