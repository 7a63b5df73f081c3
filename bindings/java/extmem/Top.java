// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/** Keeps the records of some ranks: push, then iterate. */
public final class Top<T> extends Handle implements Iterable<T> {
	private final Type<T> type;
	private boolean finished;

	/** Keep the records of ranks from, ..., from + k - 1, with the fields of em_sort_opts, or null. */
	public Top(Order<T> order, long from, long k, Options opts) {
		super(Native.number(
			RawJNI.em_top_open(order.ctx.id, order.id, from, k, order.sortOptions(opts)), order));
		type = order.records();
	}

	/** Push a record. */
	public void push(T record) { pushMany(type.encode(record)); }

	public void pushAll(Collection<? extends T> records) { pushMany(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public void pushMany(byte[] records) { Native.take(RawJNI.em_top_push(id, records), this); }

	private List<T> batch() {
		if (!finished)
			Native.take(RawJNI.em_top_finish(id), this);
		finished = true;
		byte[] records = Native.bytes(RawJNI.em_top_next(id), this);
		return records == null ? null : type.decodeAll(records);
	}

	/** End the input, and take out the result, in order. */
	@Override
	public Iterator<T> iterator() {
		return new Batches<>(this::batch);
	}
}
