// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** What has to be closed.  One thread uses it at a time; what nobody has any more is closed when it is collected. */
public abstract class Handle implements AutoCloseable {
	private static final Cleaner CLEANER = Cleaner.create();
	/** Those that are open, by their numbers: no more than a collector leaves of them. */
	private static final Map<Long, WeakReference<Handle>> OPEN = new ConcurrentHashMap<>();
	final long id;
	private final Cleaner.Cleanable cleanable;
	/** What only this has, and closes: an order that it made for itself, or null. */
	Handle own;
	/** The iterator of what it lends, or null. */
	private Batches<?> loop;

	Handle(long id) {
		this.id = id;
		// To close it again does nothing, and no number is used again.
		cleanable = CLEANER.register(this, () -> end(id));
		OPEN.put(id, new WeakReference<>(this));
	}

	/** Have what nobody has any more closed, by this thread: the cleaner's may come to that late. */
	static void collect() {
		System.gc();
		OPEN.forEach((id, handle) -> {
			if (handle.refersTo(null))
				end(id);
		});
	}

	private static void end(long id) {
		OPEN.remove(id);
		RawJNI.emb_close(id, 1);
	}

	/** Its number, for a call: what a loop has not come to is what that begins with. */
	final long id() {
		if (loop != null)
			loop.giveBack();
		return id;
	}

	/** Its one iterator, so that a loop goes on where the one before was left. */
	@SuppressWarnings("unchecked")
	final <T> Iterator<T> loop(Supplier<List<T>> more, Batches.Back back) {
		if (loop == null || loop.ended())
			loop = new Batches<>(more, back);
		return (Iterator<T>)loop;
	}

	/** Give back what it has; to close it again does nothing. */
	@Override
	public void close() {
		if (RawJNI.emb_close(id, 0) == 0)
			throw ExtmemException.busy("a call is in progress on what it is a part of");
		cleanable.clean();
		loop = null;
		if (own != null)
			own.close();
	}

	/** Stop what it does, from any thread, if that can be stopped. */
	public void cancel() {
		Raw.emb_cancel(this);
	}

	/** Was it closed? */
	public boolean isClosed() { return Raw.emb_is_open(this) == 0; }
}
