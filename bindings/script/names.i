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
/* reason: emb_...() of stream.h are these, with functions of the language */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(open|generate|memory|map|filter|inspect|flat_map)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(transform|reduce|join|tee|split|sort_reduce|progress)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_lines_(map|filter|flat_map|inspect|reduce|split)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_runs_(open|feed|merge)$";
%ignore em_sink_push_lines;
/* reason: would call functions of the language on threads of the library */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(ahead|parallel_map)$";

/* What is there for facades. */
%rename(order) emb_order;
%rename(btree_walk) emb_btree_walk;
%rename(stream_paths) emb_stream_paths;
%rename(sink_path) emb_sink_path;
%rename(sink_none) emb_sink_none;
%rename(stream_to_path) emb_stream_to_path;
%rename(format) emb_format;
%rename(items) emb_unpack;
%rename(packed) emb_pack;
%rename(retype) emb_retype;
em_status emb_order(em_order **out, em_ctx *ctx, const emb_spec *spec, em_errinfo *err);
em_status emb_format(const emb_spec *spec, uint64_t *bytes, uint64_t *n, uint64_t *position, uint64_t *count);
em_status emb_retype(emb_items *of, const emb_spec *spec, em_errinfo *err);
emb_many emb_unpack(emb_items *of, const void *records, uint64_t n);
emb_many emb_pack(emb_items *of, const void *records, uint64_t n);
em_status emb_stream_paths(em_stream **out, em_ctx *ctx, const emb_spec *spec, const char *const *paths, uint32_t n,
			   const em_format *format, em_errinfo *err);
em_status emb_sink_path(em_sink **out, em_ctx *ctx, const emb_spec *spec, const char *path, const em_format *format,
			em_errinfo *err);
em_status emb_sink_none(em_sink **out, em_ctx *ctx, const emb_spec *spec, em_errinfo *err);
em_status emb_stream_to_path(em_stream *s, em_ctx *ctx, const char *path, const em_format *format, uint64_t *moved,
			     em_errinfo *err);
