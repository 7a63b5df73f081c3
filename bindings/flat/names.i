/* SPDX-License-Identifier: BSL-1.0 */
/* What only Python and C have.  check-wrapped.sh reads the reasons. */

/* reason: transfers keep memory of the caller's while his program goes on; languages have containers and files */
%rename("$ignore", regextarget=1, %$isfunction) "^em_(file|request|disks|disk|bids|block|blocks|block_pool|placement)_.*$";
/* reason: caches of blocks are for programs that work on blocks in place; languages have containers */
%rename("$ignore", regextarget=1, %$isfunction) "^em_cache_.*$";
/* reason: emb_stream_...() of stream.h are these, with functions of the language and for sinks in one call */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(open|generate|memory|map|filter|inspect|flat_map)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(transform|reduce|join|tee|split|pump)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_sink_.*$";
/* reason: iterators of containers are sources */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(vector|stack|queue|deque|pq|btree|sorter)$";
/* reason: would call functions of the language on threads of the library */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(ahead|parallel_map)$";
/* reason: lines of files are sorted and pulled by sorters, which languages have */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_lines.*$";
/* reason: what combines records, or reads runs in part, needs functions of C or Python; others have sorters */
%rename("$ignore", regextarget=1, %$isfunction) "^em_runs_.*$";
%ignore em_stream_sort_reduce;
%ignore em_stream_runs_info_get;
/* reason: a graph of a language has iterators of its own, of which it would tell nothing */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_graph_info_.*$";
%ignore em_stream_progress;
