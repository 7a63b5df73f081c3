/* SPDX-License-Identifier: BSL-1.0 */
/*
 * attributes.h -- what a file has beside its contents: owner, permissions, access control list, extended attributes.
 */
#ifndef EMI_ATTRIBUTES_H
#define EMI_ATTRIBUTES_H

#include <extmem/ctx.h>

/*
 * Give the open file `to' all that the open file `from' has.  1, or 0 when something cannot be had: then nobody should
 * be given `to' in place of `from'.  At no time does anybody have more rights than with `from'.
 *
 * Not copied is what belongs to the contents: capabilities of a program, and signatures.
 */
int emi_attributes_copy(em_ctx *ctx, int from, int to);

#endif
