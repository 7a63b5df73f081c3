// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;

/** What records of a type are pushed to; lines without their newlines. */
public abstract class Input<T> extends Handle {
	final Type<T> type;

	Input(Object opened, Object used, Type<T> type) {
		super(Native.number(opened, used));
		this.type = type;
	}

	/** Add records, which are bytes; of lines, what {@link Type#encodeAll} makes. */
	abstract Object add(Object records);

	private void pushObject(Object records) { Native.take(add(records), this); }

	/** Push one record. */
	public final void push(T record) { pushAll(List.of(record)); }

	public final void pushAll(Collection<? extends T> records) { pushObject(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public final void pushMany(byte[] records) { pushObject(records); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public final void pushMany(ByteBuffer records) {
		pushObject(Native.in(records));
		records.position(records.limit());
	}

	/** Records of 8 bytes, or several numbers for each. */
	public final void pushMany(long[] records) { pushObject(records); }
}
