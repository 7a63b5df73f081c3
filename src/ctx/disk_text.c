/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_text.c -- a disk as text: PATH[,SIZE[,BACKEND[,OPTION]...]].
 *
 * The text is cut to pieces where it stands.  What only simulated disks have, they know themselves.
 */
#include <stddef.h>

#include <extmem/disk.h>
#include <extmem/sys/simdisk.h>

#include "base/error.h"
#include "base/options.h"
#include "base/structs.h"
#include "io/queue.h"

#define AT(field) offsetof(em_disk_opts, field)
#define PATH_MOST 4096

enum { SIZE, OPTIONS };

static const emi_option table[] = {
	{ "size", EMI_OPTION_SIZE, 0, AT(capacity), 0, UINT64_MAX, NULL },
	{ "queue", EMI_OPTION_NUMBER, 0, AT(queue_depth), 0, EMI_IO_DEPTH_MAX, NULL },
	{ "direct", EMI_OPTION_WORD, 0, AT(direct), 0, 0, "try|off|on" },
	{ "force", EMI_OPTION_FLAG, EM_DISK_FORCE, AT(flags), 0, 0, NULL },
	{ "keep", EMI_OPTION_FLAG, EM_DISK_KEEP, AT(flags), 0, 0, NULL },
	{ "fixed", EMI_OPTION_FLAG, EM_DISK_FIXED, AT(flags), 0, 0, NULL },
};

static em_status take_backend(em_disk_opts *o, em_simdisk *sim, char *name, em_errinfo *err)
{
	em_status st;

	o->backend = *name != '\0' ? name : NULL;
	if (sim == NULL || strcmp(name, "simdisk") != 0)
		return EM_OK;
	st = em_simdisk_init(sim, sizeof *sim, NULL, err);
	if (st != EM_OK)
		return st;
	o->backend = NULL;
	o->custom = em_simdisk_backend(sim);
	return EM_OK;
}

static em_status take_option(emi_options *opts, em_disk_opts *o, em_simdisk *sim, char *text, em_errinfo *err)
{
	const uint32_t i = emi_option_find(opts, text);
	em_errinfo own;
	em_status st;

	if (i >= OPTIONS && i < opts->n)
		return emi_option_take(opts, i, o, text, err);
	if (o->custom == NULL)
		return emi_fail(err, EM_ERR_INVAL, "%s: there is no such option%s", text, strchr(text, '=') != NULL ?
				" of disks that are not simulated (backend simdisk)" : "");
	st = em_simdisk_parse(sim, text, &own);
	return st == EM_OK ? EM_OK : emi_fail(err, st, "%s: %s", text, own.text);
}

static em_status take_part(emi_options *opts, em_disk_opts *o, em_simdisk *sim, int number, char *text, em_errinfo *err)
{
	if (number == 0)
		return *text != '\0' ? emi_option_set(&table[SIZE], o, text, err) : EM_OK;
	return number == 1 ? take_backend(o, sim, text, err) : take_option(opts, o, sim, text, err);
}

static em_status parse(em_disk_opts *o, em_simdisk *sim, char *text, em_errinfo *err)
{
	emi_options opts = { table, sizeof table / sizeof table[0], 0 };
	char *at = text, *end = emi_option_end(text);
	em_status st = EM_OK;
	int number, more = *end != '\0';

	*end = '\0';
	emi_option_unquote(text);
	o->path = text;
	if (*text == '\0')
		st = emi_fail(err, EM_ERR_INVAL, "the path is empty");
	else if (strlen(text) >= PATH_MOST)
		st = emi_fail(err, EM_ERR_INVAL, "the path is longer than %d bytes", PATH_MOST - 1);
	for (number = 0; more && st == EM_OK; number++) {
		at = end + 1;
		end = emi_option_end(at);
		more = *end != '\0';
		*end = '\0';
		st = take_part(&opts, o, sim, number, at, err);
	}
	if (st != EM_OK)
		err->offset = (uint64_t)(at - text);
	return st;
}

em_status em_disk_parse(em_disk_opts *opts, em_simdisk *sim, char *text, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_disk_opts o;
	em_status st;

	st = emi_given(opts, "opts", &own);
	if (st == EM_OK)
		st = emi_given(text, "text", &own);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_disk_opts, &o, opts, &own);
	if (st == EM_OK)
		st = parse(&o, sim, text, &own);
	if (st == EM_OK)
		st = EMI_STRUCT_GIVE(em_disk_opts, opts, &o);
	return emi_tell(err, st, &own);
}
