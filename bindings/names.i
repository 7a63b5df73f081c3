/* SPDX-License-Identifier: BSL-1.0 */
/* What is left out of all languages.  check-wrapped.sh reads the reasons. */

%rename("$ignore", %$isclass) "";
%ignore EM_API;
%ignore EM_EACH;
%ignore EM_NODISCARD;
%ignore EM_BEGIN_DECLS;
%ignore EM_END_DECLS;

/* reason: details of failures are in exceptions */
%rename("$ignore", regextarget=1, %$isfunction) "^em_.*_error$";
/* reason: handles are canceled, by any thread, and closed by their own methods */
%rename("$ignore", regextarget=1, %$isfunction) "^em_(sorter|top|vector|stack|queue|deque|runs)_cancel$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_(pq|radix_heap|btree|block_pool|cache)_cancel$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_.*_close$";
/* reason: loops over single records in C; languages have batches */
%rename("$ignore", regextarget=1, %$isfunction) "^em_.*_cursor$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_(stack|queue|deque)_.*window$";
/* reason: records in place have no owner; reading and writing copies them */
%ignore em_vector_pin;
%ignore em_vector_unpin;
%ignore em_vector_writer_lend;
%ignore em_vector_writer_took;
/* reason: state is kept in the caller's memory; em_check_file() and sorters know formats */
%ignore em_record_end;
/* reason: the sizes of two handles would have to change; exchange the variables */
%rename("$ignore", regextarget=1, %$isfunction) "^em_.*_swap$";
/* reason: tables of functions in C */
%rename("$ignore", regextarget=1, %$isfunction) "^em_backend_.*$";
%ignore em_placement_own;
%ignore em_placement_interleaved;
%ignore em_placement_disk;
/* reason: options name placements */
%ignore em_placement_init;
/* reason: lives in the caller's memory; em_request_wait_all() tells of several */
%ignore em_request_wait_any;
%ignore em_request_poll_any;
/* reason: memory of the language is used for transfers */
%ignore em_buffer_alloc;
%ignore em_buffer_free;
/* reason: constants are the module's, made from the headers */
%rename("$ignore", regextarget=1, %$isfunction) "^em_constant.*$";
/* reason: statistics are told by name */
%ignore em_io_stats_since;
%ignore em_io_stats_text;
%rename("$ignore", regextarget=1, %$isfunction) "^em_.*_json$";
%ignore em_sort_stats_phase;
%ignore em_ctx_disk_stats_get;
/* reason: exchanges memory of the library for memory of the caller's */
%ignore em_block_pool_attach;
%ignore em_block_pool_detach;
/* reason: em_bid is a pair in languages */
%ignore em_bid_none;
%ignore em_bid_equal;
%ignore em_bid_is_none;
/* reason: what it lends is the tree's; who made the tree has the order */
%ignore em_btree_order;
/* reason: texts of keys are what makes orders */
%ignore em_key_parse;
%ignore em_text_key_parse;
/* reason: pointers into blocks that C programs work on in place; languages have containers, pools and files */
%ignore em_block_list_open;
%rename("$ignore", regextarget=1, %$isfunction) "^em_block_layout_.*$";
%ignore em_block_writer_lend;
%ignore em_block_writer_took;
%rename("$ignore", regextarget=1, %$isfunction) "^em_cache_(get|get_many|unpin|attach|detach)$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_cache_trace_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_element_.*$";
%ignore em_sort_blocks;
%ignore em_schedule_fetches;
%ignore em_schedule_steps;
/* reason: outputs of em_sort_files() and em_vector_export() appear in the same way */
%rename("$ignore", regextarget=1, %$isfunction) "^em_output_.*$";
/* reason: for tests of the library itself, in C */
%rename("$ignore", regextarget=1, %$isfunction) "^em_fault_.*$";
%rename("$ignore", regextarget=1, %$isfunction) "^em_simdisk_.*$";
/* reason: options name policies */
%rename("$ignore", regextarget=1, %$isfunction) "^em_policy_.*$";
/* reason: options and statistics are by name, and initialised by the module */
%rename("$ignore", regextarget=1, %$isfunction) "^em_.*_init$";
%ignore em_sort_opts_parse;
%ignore em_disk_parse;
/* reason: inlined by C compilers */
%ignore em_order_kernels;
%rename("$ignore", regextarget=1, %$isfunction) "^em_cursor_.*$";
%ignore em_block_at;
%ignore em_block_info;
%ignore em_block_link;
%ignore em_block_record;
%ignore em_window_push;
%ignore em_window_pop;
%ignore em_window_push_back;
%ignore em_window_pop_back;
%ignore em_window_push_front;
%ignore em_window_pop_front;

/* reason: iterators of the language, which streams are made of, give any number of records of any number of streams */
%rename("$ignore", regextarget=1, %$isfunction) "^em_stream_(open|generate|memory|map|flat_map|lines_map|transform)$";
/* reason: a function that is made for the language has its place: emb_stream_join(), emb_sink_function() */
%ignore em_stream_join;
%ignore em_stream_lines_join;
%ignore em_line_put;
%ignore em_line_add;
%ignore em_sink_open;
/* reason: functions of a language run one at a time: what iterators make is as fast */
%ignore em_stream_parallel_map;
/* reason: pulls on a thread of the library, whose stack of 256 KiB is too small for functions of languages */
%ignore em_stream_ahead;
/* reason: reading copies, to memory that languages keep themselves */
%ignore em_sink_memory;
/* reason: inlined by C compilers */
%ignore em_stream_empty;
%ignore em_stream_front;
%ignore em_stream_advance;
/* reason: text for people: emb_pq_dump() */
%ignore em_pq_dump;
