/* SPDX-License-Identifier: BSL-1.0 */
/* What only Python and C have.  check-wrapped.sh reads the reasons. */

/* reason: transfers keep memory of the caller's while his program goes on; languages have containers and files */
%rename("$ignore", regextarget=1, %$isfunction) "^em_(file|request|disks|disk|bids|block|blocks|block_pool|placement)_.*$";
/* reason: streams and caches of blocks are Python's so far */
%rename("$ignore", regextarget=1, %$isfunction) "^em_(stream|sink|cache)_.*$";
