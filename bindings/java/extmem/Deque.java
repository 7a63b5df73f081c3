// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;

/** Has two ends at which records enter and leave. */
public final class Deque<T> extends Sequence<T> {
	private static final Functions F = new Functions(RawJNI::em_deque_size, RawJNI::em_deque_stats_get,
		RawJNI::em_deque_get, RawJNI::em_deque_set, RawJNI::em_deque_read, RawJNI::em_deque_write);

	/** Make one with the fields of em_container_opts, or null. */
	public Deque(Context ctx, Type<T> type, Options opts) {
		super(F, ctx, open(RawJNI::em_deque_open, ctx, type, opts), ctx, type);
	}

	/** Add a record behind the last. */
	public void pushBack(T record) { done(RawJNI.em_deque_push_back(id, type.encode(record))); }

	/** Add a record before the first. */
	public void pushFront(T record) { done(RawJNI.em_deque_push_front(id, type.encode(record))); }

	public void pushBackAll(Collection<? extends T> records) { pushBackMany(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public void pushBackMany(byte[] records) { done(RawJNI.em_deque_push_back_many(id, records)); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public void pushBackMany(ByteBuffer records) {
		done(RawJNI.em_deque_push_back_many(id, Native.in(records)));
		records.position(records.limit());
	}

	/** Take out the last record, or null. */
	public T popBack() { return one(RawJNI.em_deque_pop_back(id)); }

	/** Take out the first record, or null. */
	public T popFront() { return one(RawJNI.em_deque_pop_front(id)); }

	/** The last record, or null. */
	public T back() { return one(RawJNI.em_deque_back(id)); }

	/** The first record, or null. */
	public T front() { return one(RawJNI.em_deque_front(id)); }

	/** Records from a position on, so many. */
	public Stream<T> stream(long from, long n) { return stream(RawJNI.em_stream_deque(id, from, n, 0)); }

	/** Push behind the last record. */
	public Sink<T> sink() { return sink(RawJNI.em_sink_deque(id)); }

	/** Take out everything. */
	public void clear() { done(RawJNI.em_deque_clear(id)); }
}
