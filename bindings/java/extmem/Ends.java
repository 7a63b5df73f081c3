// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** What has a way in and a way out.  It iterates by taking out record after record. */
public abstract class Ends<T> extends Container<T> implements Iterable<T> {
	private final Functions f;

	/** What a kind of container calls. */
	record Functions(BiFunction<Handle, Options, Object> open, ToLongFunction<Handle> size,
		Function<Handle, Object> stats, BiFunction<Handle, Object, Object> push,
		BiFunction<Handle, Object, Object> pushMany, Function<Handle, Object> pop,
		BiFunction<Handle, Object, Object> popMany, Function<Handle, Object> peek,
		Function<Handle, Object> clear) {}

	Ends(Functions f, Context ctx, Type<T> type, Options opts) {
		super(ctx, type, f.open, f.size, f.stats, opts);
		this.f = f;
	}

	/** Push a record. */
	public final void push(T record) { f.push.apply(this, type.encode(record)); }

	/** Push records; if that fails, {@link ExtmemException#done()} tells how many it took. */
	public final void pushAll(Collection<? extends T> records) { pushMany(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public final void pushMany(byte[] records) { f.pushMany.apply(this, records); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public final void pushMany(ByteBuffer records) { Native.drain(records, all -> f.pushMany.apply(this, all)); }

	/** Take out a record, or null. */
	public final T pop() { return one(f.pop.apply(this)); }

	/** What pop() would take, or null. */
	public final T peek() { return one(f.peek.apply(this)); }

	/** Take out at most n records. */
	public final List<T> popMany(int n) { return type.decodeAll(popBytes(n)); }

	/** Take out at most n records, side by side. */
	public final byte[] popBytes(int n) {
		byte[] room = type.room(Math.min(n, size()));
		if (room.length > 0)
			f.popMany.apply(this, room);
		return room;
	}

	/** Fill the room from the position of a buffer to its limit with records that are taken out: how many. */
	public final int popMany(ByteBuffer room) {
		int n = (int)Math.min(room.remaining() / type.bytes, size());
		ByteBuffer some = room.duplicate().limit(room.position() + n * type.bytes);
		Native.fill(some, type.bytes, memory -> n == 0 ? 0L : f.popMany.apply(this, memory));
		room.position(some.position());
		return n;
	}

	/** Take out everything. */
	public final void clear() { f.clear.apply(this); }

	/** Takes out record after record, as pop() does. */
	@Override
	public final Iterator<T> iterator() {
		return new Batches<>(() -> {
			T record = pop();
			return record == null ? null : List.of(record);
		});
	}
}
