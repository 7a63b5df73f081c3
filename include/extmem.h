/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem.h  External memory for C: everything.
 */
#ifndef EXTMEM_H
#define EXTMEM_H

#include <extmem/base.h>
#include <extmem/batch.h>
#include <extmem/btree.h>
#include <extmem/check.h>
#include <extmem/container.h>
#include <extmem/ctx.h>
#include <extmem/cursor.h>
#include <extmem/deque.h>
#include <extmem/disk.h>
#include <extmem/format.h>
#include <extmem/order.h>
#include <extmem/progress.h>
#include <extmem/pq.h>
#include <extmem/queue.h>
#include <extmem/radix_heap.h>
#include <extmem/shuffle.h>
#include <extmem/sink.h>
#include <extmem/runs.h>
#include <extmem/sort.h>
#include <extmem/stack.h>
#include <extmem/stream.h>
#include <extmem/stream_containers.h>
#include <extmem/stream_lines.h>
#include <extmem/stream_nodes.h>
#include <extmem/text.h>
#include <extmem/top.h>
#include <extmem/unique.h>
#include <extmem/vector.h>
#include <extmem/vector_scan.h>
#include <extmem/window.h>
#include <extmem/status.h>

#endif
