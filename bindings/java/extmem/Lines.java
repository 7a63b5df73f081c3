// SPDX-License-Identifier: BSL-1.0
package extmem;

/** Sorts lines: records of any length, which are pushed without their newlines, in UTF-8. */
public final class Lines extends Sorter<String> {
	/** Make one for an order of lines, with the fields of em_sort_opts, or null. */
	public Lines(Order<String> order, Options opts) { super(order, opts, Type.LINES); }
}
