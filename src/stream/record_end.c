/* SPDX-License-Identifier: BSL-1.0 */
/* record_end.c -- where a record of a caller's bytes ends, by the rules that the readers of files have. */
#include <string.h>

#include "base/structs.h"
#include "stream/csv.h"
#include "stream/records.h"

em_status em_record_end(const em_format *format, uint32_t *state, const void *data, size_t n, size_t *end)
{
	const unsigned char *p = data, *found;
	em_status st;
	int at;

	if (format == NULL || state == NULL || end == NULL || (data == NULL && n != 0) || *state > EMI_CSV_MOST)
		return EM_ERR_INVAL;
	st = EMI_STRUCT_CHECK(em_format, format, NULL);
	if (st != EM_OK)
		return st;
	if (emi_format_check(format, NULL) != EM_OK || !emi_format_delimited(format))
		return EM_ERR_INVAL;
	if (n == 0)
		return EM_END;
	if (format->kind == EM_FORMAT_CSV) {
		at = (int)*state;
		found = emi_csv_first(format, &at, p, p + n);
		*state = (uint32_t)at;
	} else {
		found = memchr(p, (int)format->delimiter, n);
		found = found != NULL ? found + 1 : NULL;
	}
	if (found == NULL)
		return EM_END;
	*end = (size_t)(found - p);
	return EM_OK;
}
