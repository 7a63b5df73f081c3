// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;

/** Sorts records of one size: push, then read, or iterate over what is left. */
public class Sorter<T> extends Input<T> implements Iterable<T> {
	private final Order<T> order;
	private boolean finished;

	/** Make one with the fields of em_sort_opts, or null. */
	public Sorter(Order<T> order, Options opts) { this(order, opts, order.records()); }

	/** Also of lines. */
	Sorter(Order<T> order, Options opts, Type<T> type) {
		super(type, Raw.em_sorter_open(order.ctx, order, opts));
		this.order = order;
	}

	public Sorter(Order<T> order) { this(order, null); }

	/** By all fields. */
	public Sorter(Context ctx, Type<T> type) { this(ctx, type, null); }

	public Sorter(Context ctx, Type<T> type, Options opts) {
		this(Order.of(ctx, type), opts);
		own = order;
	}

	@Override
	Object add(Object records) {
		return type.bytes == 0 ? Raw.em_sorter_push_batch(this, records) : Raw.em_sorter_push(this, records);
	}

	/** The records of a file. */
	public void pushFile(Path path) { Raw.em_sorter_push_file(this, path); }

	/** End the input. */
	public void finish() {
		Raw.em_sorter_finish(this);
		finished = true;
	}

	private void end() {
		if (!finished)
			finish();
	}

	private int next(Object room) { return (int)Native.number(Raw.emb_read(this, room), -1); }

	private int readObject(Object room) {
		end();
		return next(room);
	}

	/** Fill an array with the next records, after finish(): how many there were; -1 behind the last. */
	public int next(byte[] room) { return next((Object)room); }

	/** Finish, if that was not done, and fill an array: how many records there were; -1 behind the last. */
	public int read(byte[] room) { return readObject(room); }

	public int read(long[] room) { return readObject(room); }

	/** The same from the position of a buffer, which moves on.  A direct buffer is written without a copy. */
	public int read(ByteBuffer room) {
		end();
		return Native.fill(room, type.bytes, memory -> Raw.emb_read(this, memory));
	}

	private List<T> batch() {
		end();
		return type.batch(Raw.em_sorter_next(this));
	}

	/** Take out the rest of the records, in order; finishes, if that was not done.  There is one iterator, which
	 *  goes on where a loop was left. */
	@Override
	public Iterator<T> iterator() {
		return loop(this::batch, (mark, n) -> Raw.em_sorter_back(this, mark, n));
	}

	/** What is left as a stream.  It may be finished later, before the first pull. */
	public Stream<T> stream() { return new Stream<>(order.ctx, type, Raw.em_stream_sorter(this)); }

	/** Push to it; it is finished when that is. */
	public Sink<T> sink() { return new Sink<>(type, Raw.em_sink_sorter(this)); }

	/** Write what is left into a file, which appears when it is whole. */
	public void writeFile(Path path) {
		end();
		Raw.em_sorter_pull_file(this, path);
	}

	/** Begin anew, also after a failure. */
	public void clear() {
		Raw.em_sorter_clear(this);
		finished = false;
	}

	/** How many records were pushed. */
	public long pushed() { return Raw.em_sorter_pushed(this); }

	/** Statistics of the sort and its phases, as JSON. */
	public String stats() { return Native.string(Raw.em_sorter_stats_get(this)); }

	/** Sort an array in place, in the memory that the option "memory" says beside it: unsigned numbers. */
	public static void sort(Context ctx, long[] numbers, Options opts) {
		try (Sorter<Long> s = new Sorter<>(ctx, Type.U64, opts)) {
			s.pushMany(numbers);
			s.read(numbers);
		}
	}
}
