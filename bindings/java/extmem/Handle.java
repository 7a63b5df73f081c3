// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.lang.ref.Cleaner;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** What has to be closed.  One thread uses it at a time; what nobody has any more is closed when it is collected. */
public abstract class Handle implements AutoCloseable {
	private static final Cleaner CLEANER = Cleaner.create();
	final long id;
	private final Cleaner.Cleanable cleanable;
	/** What only this has, and closes: an order that it made for itself, or null. */
	Handle own;
	/** The iterator of what it lends, or null. */
	private Batches<?> loop;

	Handle(long id) {
		this.id = id;
		// To close it again does nothing, and no number is used again.
		cleanable = CLEANER.register(this, () -> RawJNI.emb_close(id, 1));
	}

	/** Have what nobody has any more closed: it is queued by the end of a collection, behind what was before. */
	static void collect() throws InterruptedException {
		for (int i = 0; i < 2; i++) {
			CountDownLatch done = new CountDownLatch(1);
			CLEANER.register(new Object(), done::countDown);
			System.gc();
			// On a busy machine the cleaner's thread may come to that late.
			done.await(10, TimeUnit.SECONDS);
		}
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
