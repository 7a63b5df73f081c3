// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Supplier;

/** Iterates over what comes in lists, up to one that is null. */
final class Batches<T> implements Iterator<T> {
	/** em_sorter_back() or its like. */
	interface Back { Object call(long mark, long n); }

	private final Supplier<List<T>> more;
	private final Back back;
	private Iterator<T> some = List.<T>of().iterator();
	private long mark;

	/** Nothing is lost with the rest of a list. */
	Batches(Supplier<List<T>> more) { this(more, null); }

	Batches(Supplier<List<T>> more, Back back) {
		this.more = more;
		this.back = back;
	}

	@Override
	public boolean hasNext() {
		while (some != null && !some.hasNext()) {
			List<T> next = more.get();
			some = next == null ? null : next.iterator();
			if (next != null && back != null)
				mark = Native.number(back.call(0, 0), 0);
		}
		return some != null;
	}

	@Override
	public T next() {
		if (!hasNext())
			throw new NoSuchElementException();
		return some.next();
	}

	boolean ended() { return some == null; }

	/** What is left of the list is what comes next, whatever asks for it. */
	void giveBack() {
		long n = 0;
		for (; some != null && some.hasNext(); some.next())
			n++;
		if (n > 0)
			back.call(mark, n);
	}
}
