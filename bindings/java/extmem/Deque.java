// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;

/** Has two ends at which records enter and leave. */
public final class Deque<T> extends Sequence<T> {
	private static final Functions F = new Functions(Raw::em_deque_open, Raw::em_deque_size,
		Raw::em_deque_stats_get, Raw::em_deque_get, Raw::em_deque_set, Raw::em_deque_read, Raw::em_deque_write);

	/** Make one with the fields of em_container_opts, or null. */
	public Deque(Context ctx, Type<T> type, Options opts) { super(F, ctx, type, opts); }

	/** Add a record behind the last. */
	public void pushBack(T record) { Raw.em_deque_push_back(this, type.encode(record)); }

	/** Add a record before the first. */
	public void pushFront(T record) { Raw.em_deque_push_front(this, type.encode(record)); }

	public void pushBackAll(Collection<? extends T> records) { pushBackMany(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public void pushBackMany(byte[] records) { Raw.em_deque_push_back_many(this, records); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public void pushBackMany(ByteBuffer records) {
		Native.drain(records, all -> Raw.em_deque_push_back_many(this, all));
	}

	/** Take out the last record, or null. */
	public T popBack() { return one(Raw.em_deque_pop_back(this)); }

	/** Take out the first record, or null. */
	public T popFront() { return one(Raw.em_deque_pop_front(this)); }

	/** The last record, or null. */
	public T back() { return one(Raw.em_deque_back(this)); }

	/** The first record, or null. */
	public T front() { return one(Raw.em_deque_front(this)); }

	/** Records from a position on, so many. */
	public Stream<T> stream(long from, long n) { return streamOf(Raw.em_stream_deque(this, from, n, 0)); }

	/** Push behind the last record. */
	public Sink<T> sink() { return sinkOf(Raw.em_sink_deque(this)); }

	/** Take out everything. */
	public void clear() { Raw.em_deque_clear(this); }
}
