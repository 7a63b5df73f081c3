/* SPDX-License-Identifier: BSL-1.0 */
/* What only Python and C have.  check-wrapped.sh reads the reasons. */

/* reason: transfers keep memory of the caller's while his program goes on; languages have containers and files */
%rename("$ignore", regextarget=1, %$isfunction) "^em_(file|request|disks?|bids|blocks?|block_pool|placement)_.*$";
/* reason: caches of blocks are for programs that work on blocks in place; languages have containers */
%rename("$ignore", regextarget=1, %$isfunction) "^em_cache_.*$";
/* reason: emb_...() of stream.h are these, with functions of the language */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(filter|inspect|tee|split|reduce|sort_reduce|progress)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_lines_(filter|flat_map|inspect|reduce|split)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_runs_(open|feed|merge)$";
%ignore em_sink_push_lines;
