// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Supplier;

/** Iterates over what comes in lists, up to one that is null. */
final class Batches<T> implements Iterator<T> {
	private final Supplier<List<T>> more;
	private Iterator<T> some = List.<T>of().iterator();

	Batches(Supplier<List<T>> more) { this.more = more; }

	@Override
	public boolean hasNext() {
		while (some != null && !some.hasNext()) {
			List<T> next = more.get();
			some = next == null ? null : next.iterator();
		}
		return some != null;
	}

	@Override
	public T next() {
		if (!hasNext())
			throw new NoSuchElementException();
		return some.next();
	}
}
