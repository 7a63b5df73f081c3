/* SPDX-License-Identifier: BSL-1.0 */
/* Functions of the caller's.  Those of options are in fields.awk. */

/* Which live as long as an order: (bytes of a record, name, function). */
%apply (uint64_t EM_OF, const char *EM_NAME, em_cmp_fn EM_CMP, uint32_t EM_FLAGS, void *EM_USER,
	void (*EM_FREE)(void *user)) {
	(uint64_t record_size, const char *name, em_cmp_fn cmp, uint32_t flags, void *user,
	 void (*user_free)(void *user))
};
%apply (uint64_t EM_OF, const char *EM_NAME, em_key_fn EM_KEY, uint32_t EM_FLAGS, void *EM_USER,
	void (*EM_FREE)(void *user)) {
	(uint64_t record_size, const char *name, em_key_fn fn, uint32_t flags, void *user,
	 void (*user_free)(void *user))
};

/* Which are called before the call returns. */
%apply (em_vector_visit_fn EM_FN, void *EM_USER) { (em_vector_visit_fn fn, void *user) };
%apply (em_vector_visit_fn EM_FN, void *EM_USER) { (em_btree_visit_fn fn, void *user) };
%apply (em_vector_change_fn EM_FN, void *EM_USER) { (em_vector_change_fn fn, void *user) };
%apply (em_vector_test_fn EM_FN, void *EM_USER) { (em_vector_test_fn test, void *user) };
%apply (em_disorder_fn EM_FN, void *EM_USER) { (em_disorder_fn fn, void *user) };

/* Which are called once, by any thread. */
%apply (em_request_fn EM_FN, void *EM_USER) { (em_request_fn fn, void *user) };

/* Which live as long as a stream or a sink. */
#ifdef SWIGPYTHON
%apply (em_filter_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_filter_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_inspect_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_inspect_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_split_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_split_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_reduce_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_reduce_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_progress_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_progress_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_lines_filter_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_lines_filter_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_lines_flat_map_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_lines_flat_map_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_lines_split_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_lines_split_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_lines_inspect_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_lines_inspect_fn fn, void *user, void (*user_free)(void *user))
};
%apply (em_lines_reduce_fn EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	(em_lines_reduce_fn fn, void *user, void (*user_free)(void *user))
};
%apply (void *EM_USER, void (*EM_FREE)(void *user)) { (void *user, void (*user_free)(void *user)) };
#endif
