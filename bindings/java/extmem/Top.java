// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Iterator;
import java.util.List;

/** Keeps the records of some ranks: push, then iterate. */
public final class Top<T> extends Input<T> implements Iterable<T> {
	private boolean finished;

	/** Keep the records of ranks from, ..., from + k - 1, with the fields of em_sort_opts, or null. */
	public Top(Order<T> order, long from, long k, Options opts) {
		super(RawJNI.em_top_open(order.ctx.id, order.id, from, k, order.sortOptions(opts)), order, order.type);
	}

	@Override
	Object add(Object records) {
		return type.bytes == 0 ? RawJNI.em_top_push_batch(id, records) : RawJNI.em_top_push(id, records);
	}

	private List<T> batch() {
		if (!finished)
			Native.take(RawJNI.em_top_finish(id), this);
		finished = true;
		return type.batch(Native.take(RawJNI.em_top_next(id), this));
	}

	/** End the input, and take out the result, in order. */
	@Override
	public Iterator<T> iterator() {
		return new Batches<>(this::batch);
	}
}
