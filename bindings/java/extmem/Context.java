// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.file.Path;
import java.util.List;

/** The budgets, scratch disks and threads that everything else shares.  Any number of threads may use it. */
public final class Context extends Handle {
	/** Make one of the fields of em_ctx_opts: "memory", "dirs", "disks", "threads", ... */
	public Context(Options opts) { super(Raw.em_ctx_open(opts)); }

	/** Version of the library that is running. */
	public static String version() { return (String)Raw.em_version(); }

	/** Stop everything in it, for good; any thread. */
	@Override
	public void cancel() {
		Raw.em_ctx_cancel(this);
	}

	/** The budget in bytes. */
	public long memory() { return Raw.em_ctx_memory(this); }

	/** How much of it is in use. */
	public long memoryUsed() { return Raw.em_ctx_memory_used(this); }

	/** What all of its files moved, as JSON. */
	public String stats() { return Native.string(Raw.em_ctx_io_stats_get(this)); }

	/** Write records of files, of one size or lines (0), in random order, with the fields of em_shuffle_opts. */
	public String shuffleFiles(long recordBytes, List<Path> inputs, Path output, Options opts) {
		return Native.string(Raw.em_shuffle_files(this, recordBytes, inputs, output, opts));
	}
}
