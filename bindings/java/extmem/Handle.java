// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.lang.ref.Cleaner;

/** What has to be closed.  One thread uses it at a time; what nobody has any more is closed when it is collected. */
public abstract class Handle implements AutoCloseable {
	private static final Cleaner CLEANER = Cleaner.create();
	final long id;
	private final Cleaner.Cleanable cleanable;
	/** What only this has, and closes: an order that it made for itself, or null. */
	Handle own;

	Handle(long id) {
		this.id = id;
		// To close it again does nothing, and no number is used again.
		cleanable = CLEANER.register(this, () -> RawJNI.emb_close(id, 1));
	}

	/** Give back what it has; to close it again does nothing. */
	@Override
	public void close() {
		if (RawJNI.emb_close(id, 0) == 0)
			throw ExtmemException.busy("a call is in progress on what it is a part of");
		cleanable.clean();
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
