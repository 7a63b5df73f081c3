/* SPDX-License-Identifier: BSL-1.0 */
/* flow_order.c -- see flow_order.h. */
#include "flow/flow_order.h"

#include "base/error.h"

em_status emi_stream_check_order(const em_stream *in, const em_order *order, em_errinfo *err)
{
	em_status st = emi_given(in, "in", err);

	if (st == EM_OK)
		st = emi_given(order, "order", err);
	if (st != EM_OK)
		return st;
	if (emi_order_ctx(order) != in->object.ctx)
		return emi_fail(err, EM_ERR_INVAL, "the order is of another context");
	if (in->varied)
		return emi_fail(err, EM_ERR_NOTSUP,
				"the stream has records of any length: em_stream_lines_map() makes others of one size");
	if (emi_order_vary(order) != NULL)
		return emi_fail(err, EM_ERR_NOTSUP,
				"the order is of records of any length; a stream has records of one size");
	if (emi_order_codec(order)->record_bytes != in->record)
		return emi_fail(err, EM_ERR_INVAL, "an order of records of %zu bytes, and a stream of %zu",
				emi_order_codec(order)->record_bytes, in->record);
	return EM_OK;
}

em_status emi_stream_check_any_order(const em_stream *in, const em_order *order, em_errinfo *err)
{
	if (in == NULL || order == NULL || !in->varied)
		return emi_stream_check_order(in, order, err);
	if (emi_order_ctx(order) != in->object.ctx)
		return emi_fail(err, EM_ERR_INVAL, "the order is of another context");
	if (emi_order_vary(order) == NULL)
		return emi_fail(err, EM_ERR_INVAL,
				"the order is of records of one size, and those of the stream have any length");
	return EM_OK;
}

em_status emi_stream_open_order(emi_collation *by, const em_stream *in, const em_order *order, em_errinfo *err)
{
	const em_status st = emi_stream_check_any_order(in, order, err);

	return st == EM_OK ? emi_collation_open(by, order, NULL, NULL, err) : st;
}
