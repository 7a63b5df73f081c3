// SPDX-License-Identifier: BSL-1.0
package extmem;

/** A failure of the library.  What a function of the caller's throws comes out as it is, and not as one of these. */
public class ExtmemException extends RuntimeException {
	private static final long serialVersionUID = 1;
	private final Detail detail;

	/** Something was asked for that cannot be. */
	public static class Usage extends ExtmemException { Usage(Detail d) { super(d); } }
	/** It is closed, or not the time for this call. */
	public static class State extends Usage { State(Detail d) { super(d); } }
	/** It is in use. */
	public static class Busy extends Usage { Busy(Detail d) { super(d); } }
	/** There is no memory, or no more of the budget. */
	public static class Memory extends ExtmemException { Memory(Detail d) { super(d); } }
	/** Files and disks. */
	public static class IO extends ExtmemException { IO(Detail d) { super(d); } }
	/** A disk is full, or has no more of its budget. */
	public static class NoSpace extends IO { NoSpace(Detail d) { super(d); } }
	/** There is no such file. */
	public static class NotFound extends IO { NotFound(Detail d) { super(d); } }
	/** What was read is not what was written, or not of the format. */
	public static class Data extends ExtmemException { Data(Detail d) { super(d); } }
	/** A function of the caller's failed before, and what used it cannot go on. */
	public static class Callback extends ExtmemException { Callback(Detail d) { super(d); } }
	/** It was canceled. */
	public static class Canceled extends ExtmemException { Canceled(Detail d) { super(d); } }

	/** What the library tells of a failure. */
	record Detail(int status, int errno, String op, String path, long offset, long bytes, long record, String text,
			long done, String name) implements java.io.Serializable {
		Detail(int status, String name, String text) {
			this(status, 0, "", "", -1, 0, 0, text, -1, name);
		}
	}

	ExtmemException(Detail d) {
		super(d.text);
		detail = d;
	}

	static ExtmemException of(Detail d) {
		switch (d.name) {
		case "EM_ERR_STATE": return new State(d);
		case "EM_ERR_BUSY": return new Busy(d);
		case "EM_ERR_NOMEM", "EM_ERR_MEMLIMIT": return new Memory(d);
		case "EM_ERR_NOSPACE": return new NoSpace(d);
		case "EM_ERR_NOENT": return new NotFound(d);
		case "EM_ERR_USER": return new Callback(d);
		case "EM_ERR_CANCELED": return new Canceled(d);
		default:
			return d.status > -100 ? new Usage(d)
				: d.status > -300 ? new IO(d) : d.status > -400 ? new Data(d) : new ExtmemException(d);
		}
	}

	static Usage usage(String text) {
		return new Usage(new Detail(RawConstants.EM_ERR_INVAL, "EM_ERR_INVAL", text));
	}

	static Busy busy(String text) {
		return new Busy(new Detail(RawConstants.EM_ERR_BUSY, "EM_ERR_BUSY", text));
	}

	/** The number of the status. */
	public int status() { return detail.status; }
	/** Its name in C: "EM_ERR_NOSPACE". */
	public String statusName() { return detail.name; }
	/** Of the operating system, or 0. */
	public int errno() { return detail.errno; }
	/** "open", "read", ..., or "". */
	public String op() { return detail.op; }
	/** The file, or "". */
	public String path() { return detail.path; }
	/** Where in the file, or -1. */
	public long offset() { return detail.offset; }
	/** Bytes that were asked for, or that would do; 0: unknown. */
	public long bytes() { return detail.bytes; }
	/** The number of the record, from 1, or 0. */
	public long record() { return detail.record; }
	/** How many records were taken before, or -1. */
	public long done() { return detail.done; }
}
