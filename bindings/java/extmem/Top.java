// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Iterator;
import java.util.List;

/** Keeps the records of some ranks: push, then iterate. */
public final class Top<T> extends Input<T> implements Iterable<T> {
	private boolean finished;

	/** Keep the records of ranks from, ..., from + k - 1, with the fields of em_sort_opts, or null. */
	public Top(Order<T> order, long from, long k, Options opts) {
		super(order.type, Raw.em_top_open(order.ctx, order, from, k, opts));
	}

	@Override
	Object add(Object records) {
		return type.bytes == 0 ? Raw.em_top_push_batch(this, records) : Raw.em_top_push(this, records);
	}

	private List<T> batch() {
		if (!finished)
			Raw.em_top_finish(this);
		finished = true;
		return type.batch(Raw.em_top_next(this));
	}

	/** End the input, and take out the result, in order.  There is one iterator, which goes on where a loop was
	 *  left. */
	@Override
	public Iterator<T> iterator() {
		return loop(this::batch, (mark, n) -> Raw.em_top_back(this, mark, n));
	}
}
