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
/* reason: streams and caches of blocks are Python's so far */
%rename("$ignore", regextarget=1, %$isfunction) "^em_(stream|sink|cache)_.*$";

/* What is there for facades. */
%rename(order) emb_order;
%rename(compare_keys) emb_compare_keys;
%rename(format) emb_format;
%rename(items) emb_unpack;
%rename(packed) emb_pack;
em_status emb_order(em_order **out, em_ctx *ctx, const emb_spec *spec, uint64_t *position, uint64_t *count,
		    em_errinfo *err);
em_status emb_format(const emb_spec *spec, uint64_t *bytes, uint64_t *n, uint64_t *position, uint64_t *count);
emb_many emb_unpack(emb_items *of, const void *records, uint64_t n);
emb_many emb_pack(emb_items *of, const void *records, uint64_t n);
int emb_compare_keys(em_btree *t, const void *from, const void *to);
