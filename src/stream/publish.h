/* SPDX-License-Identifier: BSL-1.0 */
/*
 * publish.h -- a complete output takes its place.
 */
#ifndef EMI_PUBLISH_H
#define EMI_PUBLISH_H

#include "io/file.h"
#include "stream/target.h"

/*
 * Put the file, all of whose bytes are written, at the target's name; it has no name, or the target's temporary one.
 * Its data is on the disk before the name is made or changed.  Where a file is there that cannot be replaced as it is,
 * its contents become those of the new one instead.
 * EM_ERR_IO, EM_ERR_NOSPACE, EM_ERR_ACCESS, ...; EM_ERR_CANCELED when the context was abandoned.
 */
em_status emi_publish(emi_target *t, em_ctx *ctx, em_file *file, uint64_t bytes, em_errinfo *err);

/* Can an unnamed file with this descriptor be given a name?  (Is there a /proc?) */
int emi_publish_linkable(int fd);

#endif
