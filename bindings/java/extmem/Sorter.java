// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Iterator;
import java.util.NoSuchElementException;

/** Sorts records of one size: push, then read, or iterate over what is left. */
public final class Sorter<T> extends Handle implements Iterable<T> {
	private static final int CHUNK = 1 << 16;
	private final Type<T> type;
	private boolean finished;

	/** Make one with the fields of em_sort_opts, or null. */
	public Sorter(Order<T> order, Options opts) {
		super(Native.number(RawJNI.em_sorter_open(order.ctx.id, order.id, order.sortOptions(opts)), order));
		type = order.records();
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

	private void pushObject(Object records) { Native.take(RawJNI.em_sorter_push(id, records), this); }

	/** Push one record. */
	public void push(T record) { pushObject(type.encode(record)); }

	public void pushAll(Collection<? extends T> records) { pushObject(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public void pushMany(byte[] records) { pushObject(records); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public void pushMany(ByteBuffer records) {
		pushObject(Native.in(records));
		records.position(records.limit());
	}

	/** Records of 8 bytes, or several numbers for each. */
	public void pushMany(long[] records) { pushObject(records); }

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

	/** Take out the rest of the records, in order; finishes, if that was not done. */
	@Override
	public Iterator<T> iterator() {
		byte[] room = new byte[Math.max(CHUNK / type.bytes, 1) * type.bytes];
		ByteBuffer records = Native.wrap(room).limit(0);
		return new Iterator<>() {
			@Override
			public boolean hasNext() {
				if (records.hasRemaining())
					return true;
				int n = read(room);
				records.position(0).limit(Math.max(n, 0) * type.bytes);
				return n > 0;
			}

			@Override
			public T next() {
				if (!hasNext())
					throw new NoSuchElementException();
				return type.get(records);
			}
		};
	}

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
