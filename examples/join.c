/* SPDX-License-Identifier: BSL-1.0 */
/*
 * join.c -- join two tables: records one by one, from two sorters at a time.
 *
 * Orders name their customer.  To have each customer's total both tables are sorted by the customer's number, and then
 * one cursor walks along each: that of the customers goes on when that of the orders shows another one.  Neither table
 * has to fit in memory.  Build it against an installed library with
 *
 *	cc -O2 join.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CUSTOMERS 300000u
#define ORDERS 3000000u

/* Both begin with what they are joined by, so both are sorted by the same key. */
typedef struct customer {
	uint64_t number;
	uint64_t limit;         /* of what may be ordered, in cents */
} customer;

typedef struct purchase {
	uint64_t customer;
	uint64_t cents;
} purchase;

/* Say what went wrong, and stop. */
static void check(em_status status, const char *what, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "join: %s: %s\n", what, err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

/* Sorters keep the detail of a failure themselves. */
static void check_sorter(em_status status, const char *what, const em_sorter *sorter)
{
	em_errinfo err;

	if (status >= 0)
		return;
	em_sorter_error(sorter, &err);
	check(status, what, &err);
}

/* A generator that is good enough to shuffle with: xorshift. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void push_customers(em_sorter *sorter)
{
	uint32_t i;

	/* Every third number is nobody's; they come in an order that is not theirs. */
	for (i = 0; i < CUSTOMERS; i++) {
		const uint64_t number = (uint64_t)i * 7919u % CUSTOMERS;
		const customer c = { number, number * 10 };

		if (number % 3 != 2)
			check_sorter(em_sorter_push(sorter, &c, 1), "push", sorter);
	}
	check_sorter(em_sorter_finish(sorter), "finish", sorter);
}

/* Returns how many cents there are in orders of somebody. */
static uint64_t push_orders(em_sorter *sorter)
{
	uint64_t state = 1, sum = 0;
	uint32_t i;

	for (i = 0; i < ORDERS; i++) {
		const uint64_t who = draw(&state) % CUSTOMERS;
		const purchase p = { who, draw(&state) % 100000 };

		sum += who % 3 != 2 ? p.cents : 0;
		check_sorter(em_sorter_push(sorter, &p, 1), "push", sorter);
	}
	check_sorter(em_sorter_finish(sorter), "finish", sorter);
	return sum;
}

/* What was found. */
typedef struct result {
	uint64_t customers, above, cents;
} result;

/* The sum of the orders of a customer, who comes behind all those asked for before. */
static uint64_t total_of(em_cursor *orders, uint64_t number, em_status *status)
{
	uint64_t cents = 0;
	const void *record;

	while ((*status = em_cursor_peek(orders, &record)) == EM_OK) {
		const purchase *p = (const purchase *)record;

		if (p->customer > number)
			break;
		if (p->customer == number)
			cents += p->cents;
		*status = em_cursor_next(orders, &record);
	}
	return cents;
}

static result join(em_sorter *customers, em_sorter *orders)
{
	em_cursor *cursor = em_sorter_cursor(customers);
	result found = { 0, 0, 0 };
	em_status status, other = EM_OK;
	const void *record;

	while ((status = em_cursor_next(cursor, &record)) == EM_OK) {
		const customer *c = (const customer *)record;
		const uint64_t cents = total_of(em_sorter_cursor(orders), c->number, &other);

		check_sorter(other, "orders", orders);
		found.customers++;
		found.above += cents > c->limit;
		found.cents += cents;
	}
	check_sorter(status, "customers", customers);
	return found;
}

int main(void)
{
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_sort_opts sort_opts = EM_SORT_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	const uint16_t one = 1;
	/* Our own numbers have this machine's byte order. */
	const em_key key = { 0, 0, EM_KEY_U64, *(const uint8_t *)&one == 1 ? 0 : EM_KEY_BIG_ENDIAN, { 0 } };
	em_sorter *customers, *orders;
	em_order *order;
	em_ctx *ctx;
	result found;
	uint64_t sum;

	ctx_opts.memory = 16u << 20;
	ctx_opts.errinfo = &err;
	sort_opts.memory = 6u << 20;
	sort_opts.errinfo = &err;
	check(em_ctx_open(&ctx, &ctx_opts), "context", &err);
	check(em_order_keys(&order, ctx, sizeof(customer), &key, 1, &err), "order", &err);
	check(em_sorter_open(&customers, ctx, order, &sort_opts), "sorter", &err);
	check(em_sorter_open(&orders, ctx, order, &sort_opts), "sorter", &err);
	push_customers(customers);
	sum = push_orders(orders);
	found = join(customers, orders);
	printf("%" PRIu64 " customers ordered for %" PRIu64 " cents, %" PRIu64 " of them more than they may\n",
	       found.customers, found.cents, found.above);
	em_sorter_close(customers);
	em_sorter_close(orders);
	em_order_close(order);
	em_ctx_close(ctx);
	return found.customers == CUSTOMERS / 3 * 2 && found.cents == sum ? EXIT_SUCCESS : EXIT_FAILURE;
}
