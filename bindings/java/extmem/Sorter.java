// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/** Sorts records of one size: push, then read, or iterate over what is left. */
public class Sorter<T> extends Input<T> implements Iterable<T> {
	private static final int CHUNK = 1 << 16;
	private final Context ctx;
	private boolean finished;

	/** Make one with the fields of em_sort_opts, or null. */
	public Sorter(Order<T> order, Options opts) { this(order, opts, order.records()); }

	/** Also of lines. */
	Sorter(Order<T> order, Options opts, Type<T> type) {
		super(RawJNI.em_sorter_open(order.ctx.id, order.id, order.sortOptions(opts)), order, type);
		ctx = order.ctx;
	}

	public Sorter(Order<T> order) { this(order, null); }

	/** By all fields. */
	public Sorter(Context ctx, Type<T> type) { this(ctx, type, null); }

	public Sorter(Context ctx, Type<T> type, Options opts) { this(Order.of(ctx, type), opts, true); }

	private Sorter(Order<T> order, Options opts, boolean own) {
		this(order, opts);
		if (own)
			this.own = order;
	}

	@Override
	Object add(Object records) {
		return type.bytes == 0 ? RawJNI.em_sorter_push_batch(id, records) : RawJNI.em_sorter_push(id, records);
	}

	/** The records of a file. */
	public void pushFile(Path path) { Native.take(RawJNI.em_sorter_push_file(id, Native.text(path)), this); }

	/** End the input. */
	public void finish() {
		Native.take(RawJNI.em_sorter_finish(id), this);
		finished = true;
	}

	private int next(Object room) {
		Object n = Native.take(RawJNI.emb_read(id, room), this);
		return n == Native.END ? -1 : (int)(long)(Long)n;
	}

	private int readObject(Object room) {
		if (!finished)
			finish();
		return next(room);
	}

	/** Fill an array with the next records, after finish(): how many there were; -1 behind the last. */
	public int next(byte[] room) { return next((Object)room); }

	/** Finish, if that was not done, and fill an array: how many records there were; -1 behind the last. */
	public int read(byte[] room) { return readObject(room); }

	public int read(long[] room) { return readObject(room); }

	/** The same from the position of a buffer, which moves on.  A direct buffer is written without a copy. */
	public int read(ByteBuffer room) {
		Object memory = Native.room(room);
		int n = readObject(memory);
		if (n > 0)
			Native.written(room, memory, n * type.bytes);
		return n;
	}

	private List<T> batch() {
		if (!finished)
			finish();
		if (type.bytes == 0)
			return type.batch(Native.take(RawJNI.em_sorter_next(id), this));
		byte[] room = new byte[Math.max(CHUNK / type.bytes, 1) * type.bytes];
		int n = next(room);
		return n < 0 ? null : type.decodeAll(Arrays.copyOf(room, n * type.bytes));
	}

	/** Take out the rest of the records, in order; finishes, if that was not done. */
	@Override
	public Iterator<T> iterator() {
		return new Batches<>(this::batch);
	}

	/** What is left as a stream: all, or what is behind the batch that was read from last.  It may be finished
	 *  later, before the first pull. */
	public Stream<T> stream() { return new Stream<>(ctx, type, RawJNI.em_stream_sorter(id), this); }

	/** Push to it; it is finished when that is. */
	public Sink<T> sink() { return new Sink<>(RawJNI.em_sink_sorter(id), this, type); }

	/** Write what is left into a file, which appears when it is whole. */
	public void writeFile(Path path) {
		if (!finished)
			finish();
		Native.take(RawJNI.em_sorter_pull_file(id, Native.text(path)), this);
	}

	/** Begin anew, also after a failure. */
	public void clear() {
		Native.take(RawJNI.em_sorter_clear(id), this);
		finished = false;
	}

	/** How many records were pushed. */
	public long pushed() { return number(RawJNI.em_sorter_pushed(id)); }

	/** Statistics of the sort and its phases, as JSON. */
	public String stats() { return Native.json(RawJNI.em_sorter_stats_get(id), this, null); }

	/** Sort an array in place, in the memory that the option "memory" says beside it: unsigned numbers. */
	public static void sort(Context ctx, long[] numbers, Options opts) {
		try (Sorter<Long> s = new Sorter<>(ctx, Type.U64, opts)) {
			s.pushMany(numbers);
			s.read(numbers);
		}
	}
}
