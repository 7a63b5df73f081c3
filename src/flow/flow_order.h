/* SPDX-License-Identifier: BSL-1.0 */
/* flow_order.h -- the orders that nodes get: of the right context, and of records of the right size. */
#ifndef EMI_FLOW_ORDER_H
#define EMI_FLOW_ORDER_H

#include <extmem/sort.h>

#include "flow/stream.h"
#include "key/collation.h"

/* For records of `in', which may be NULL: EM_ERR_INVAL, EM_ERR_NOTSUP. */
em_status emi_stream_check_order(const em_stream *in, const em_order *order, em_errinfo *err);

/* The same for a node that takes records of any length, too, with an order of these. */
em_status emi_stream_check_any_order(const em_stream *in, const em_order *order, em_errinfo *err);

/* The same, and open a collation by it.  That fails as emi_collation_open(). */
em_status emi_stream_open_order(emi_collation *by, const em_stream *in, const em_order *order, em_errinfo *err);

/* Are values that options of a sort force legal?  Whether memory is enough is seen when it is there. */
em_status emi_stream_check_sort(const em_stream *in, const em_order *order, const em_sort_opts *opts, em_errinfo *err);

#endif
