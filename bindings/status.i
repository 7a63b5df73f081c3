/* SPDX-License-Identifier: BSL-1.0 */
/* Statuses: constants, and functions that tell of them.  SWIG does not follow the inclusion in the enum. */
#define EM_STATUS(name, value, text) %constant int EM_##name = value;
%include "extmem/status.def"
#undef EM_STATUS

typedef int32_t em_status;
const char *em_status_text(int32_t status);
const char *em_status_name(int32_t status);
uint32_t em_status_count(void);
int32_t em_status_at(uint32_t i);
