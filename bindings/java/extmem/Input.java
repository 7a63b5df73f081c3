// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;

/** What records of a type are pushed to; lines without their newlines. */
public abstract class Input<T> extends Handle {
	final Type<T> type;

	Input(Type<T> type, long id) {
		super(id);
		this.type = type;
	}

	/** Add records, which are bytes; of lines, what {@link Type#encodeAll} makes. */
	abstract Object add(Object records);

	/** Push one record. */
	public final void push(T record) { pushAll(List.of(record)); }

	public final void pushAll(Collection<? extends T> records) { add(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public final void pushMany(byte[] records) { add(records); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public final void pushMany(ByteBuffer records) { Native.drain(records, this::add); }

	/** Records of 8 bytes, or several numbers for each. */
	public final void pushMany(long[] records) { add(records); }
}
