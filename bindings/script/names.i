/* SPDX-License-Identifier: BSL-1.0 */
/* What Lua, Perl, Ruby and Tcl do not have, beside what names.i leaves out; check-wrapped.sh reads the reasons. */

/* reason: files, requests, blocks and their pools are sys/, for programs that move memory of their own */
%rename("$ignore", regextarget=1, %$isfunction) "^em_file_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_request_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_disks_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_block_(pool|list|reader|writer)_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_bids_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_buffer_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_block_(read|write)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_blocks_.*$";
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

/* What is there for facades. */
%rename(order) emb_order;
%rename(compare_keys) emb_compare_keys;
%rename(format) emb_format;
%rename(items) emb_unpack;
%rename(packed) emb_pack;
%rename(retype) emb_retype;
em_status emb_order(em_order **out, em_ctx *ctx, const emb_spec *spec, uint64_t *position, uint64_t *count,
		    em_errinfo *err);
em_status emb_format(const emb_spec *spec, uint64_t *bytes, uint64_t *n, uint64_t *position, uint64_t *count);
em_status emb_retype(emb_items *of, const emb_spec *spec, em_errinfo *err);
emb_many emb_unpack(emb_items *of, const void *records, uint64_t n);
emb_many emb_pack(emb_items *of, const void *records, uint64_t n);
int emb_compare_keys(em_btree *t, const void *from, const void *to);
