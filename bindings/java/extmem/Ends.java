// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/** What has a way in and a way out.  It iterates by taking out record after record. */
public abstract class Ends<T> extends Container<T> implements Iterable<T> {
	private final Functions f;

	@FunctionalInterface
	interface Bytes {
		Object apply(long id, Object bytes);
	}

	/** What a kind of container calls. */
	record Functions(LongUnaryOperator size, LongFunction<Object> stats, Bytes push, Bytes pushMany,
		LongFunction<Object> pop, Bytes popMany, LongFunction<Object> peek, LongFunction<Object> clear) {}

	Ends(Functions f, Context ctx, Object opened, Object used, Type<T> type) {
		super(ctx, opened, used, type, f.size, f.stats);
		this.f = f;
	}

	/** Push a record. */
	public final void push(T record) { done(f.push.apply(id, type.encode(record))); }

	/** Push records; if that fails, {@link ExtmemException#done()} tells how many it took. */
	public final void pushAll(Collection<? extends T> records) { pushMany(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public final void pushMany(byte[] records) { done(f.pushMany.apply(id, records)); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public final void pushMany(ByteBuffer records) {
		done(f.pushMany.apply(id, Native.in(records)));
		records.position(records.limit());
	}

	/** Take out a record, or null. */
	public final T pop() { return one(f.pop.apply(id)); }

	/** What pop() would take, or null. */
	public final T peek() { return one(f.peek.apply(id)); }

	/** Take out at most n records. */
	public final List<T> popMany(int n) { return type.decodeAll(popBytes(n)); }

	/** Take out at most n records, side by side. */
	public final byte[] popBytes(int n) {
		byte[] room = new byte[Math.multiplyExact((int)Math.min(n, size()), type.bytes)];
		if (room.length > 0)
			done(f.popMany.apply(id, room));
		return room;
	}

	/** Fill the room from the position of a buffer to its limit with records that are taken out: how many. */
	public final int popMany(ByteBuffer room) {
		int n = (int)Math.min(room.remaining() / type.bytes, size());
		ByteBuffer some = room.duplicate().limit(room.position() + n * type.bytes);
		Object memory = Native.room(some);
		if (n > 0)
			done(f.popMany.apply(id, memory));
		Native.written(some, memory, n * type.bytes);
		room.position(some.position());
		return n;
	}

	/** Take out everything. */
	public final void clear() { done(f.clear.apply(id)); }

	/** Takes out record after record, as pop() does. */
	@Override
	public final Iterator<T> iterator() {
		return new Batches<>(() -> {
			T record = pop();
			return record == null ? null : List.of(record);
		});
	}
}
