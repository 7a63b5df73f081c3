/* SPDX-License-Identifier: BSL-1.0 */
/* Streams and sinks: which of them become parts of others, and functions that live as long as they do. */

/* Streams that become inputs of the one that is made: their handles are closed then, without closing them. */
%typemap(in) em_stream *EM_INPUT (emb_handle *held = NULL) {
	held = emb_enter($input, &emb_kind_em_stream, 0);
	if (!held)
		SWIG_fail;
	$1 = (em_stream *)held->object;
}
%typemap(argout) em_stream *EM_INPUT {
	held$argnum->object = NULL;
}
%typemap(freearg) em_stream *EM_INPUT {
	emb_leave(held$argnum);
	emb_end();
}
EM_HANDLES(em_stream, em_stream *const *EM_INPUTS)
%typemap(argout) (em_stream *const *EM_INPUTS, uint32_t EM_N) {
	emb_handle **h;

	for (h = in$argnum; *h; h++)
		(*h)->object = NULL;
}

/* Which live as long as a stream or a sink; NULL for None. */
%define EM_KEPT(T, trampoline)
%typemap(in) (T EM_FN, void *EM_USER, void (*EM_FREE)(void *user)) {
	$2 = emb_fn_new($input, emb_call.record_bytes);
	if (!$2)
		SWIG_fail;
	$1 = trampoline;
	$3 = emb_fn_free;
}
%enddef
EM_KEPT(em_filter_fn, emb_filter)
EM_KEPT(em_inspect_fn, emb_inspect)
EM_KEPT(em_split_fn, emb_split)
EM_KEPT(em_reduce_fn, emb_reduce)
EM_KEPT(em_progress_fn, emb_progress_of)
EM_KEPT(em_lines_filter_fn, emb_lines_filter)
EM_KEPT(em_lines_flat_map_fn, emb_lines_flat_map)
EM_KEPT(em_lines_inspect_fn, emb_lines_inspect)
EM_KEPT(em_lines_reduce_fn, emb_lines_reduce)
EM_KEPT(em_lines_split_fn, emb_lines_split)
%typemap(in) (void *EM_USER, void (*EM_FREE)(void *user)) {
	$1 = NULL;
	$2 = emb_fn_free;
	if ($input != Py_None) {
		$1 = emb_fn_new($input, 0);
		if (!$1)
			SWIG_fail;
	}
}

/* Outputs of a tee, which are one graph: the handle of that, which has no object, is what all of them are on. */
%typemap(in) (em_stream **EM_OUTS, uint32_t EM_N) (PyObject *temp = NULL) {
	const unsigned long count = PyLong_AsUnsignedLong($input);

	if (PyErr_Occurred())
		SWIG_fail;
	if (count > EMB_TEE_MOST) {
		PyErr_Format(PyExc_ValueError, "a stream becomes at most %u", EMB_TEE_MOST);
		SWIG_fail;
	}
	$1 = (em_stream **)emb_temp(&temp, count * sizeof *$1);
	$2 = (uint32_t)count;
	if (!$1)
		SWIG_fail;
}
%typemap(argout) (em_stream **EM_OUTS, uint32_t EM_N) {
	$result = emb_output($result, EMB_OUT(emb_streams_new($1, $2)));
	if (!$result)
		SWIG_fail;
}
%typemap(freearg) (em_stream **EM_OUTS, uint32_t EM_N) {
	Py_XDECREF(temp$argnum);
}

/* Sinks, which stay the caller's. */
EM_HANDLES(em_sink, struct em_sink *const *EM_SINKS)
%typemap(argout) (struct em_sink *const *EM_SINKS, uint32_t EM_N) "";

/* Those of flow.h take their places. */
%ignore em_sink_push_lines;
%ignore em_runs_open;
%ignore em_runs_feed;
%ignore em_runs_merge;
