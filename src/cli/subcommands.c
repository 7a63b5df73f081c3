/* SPDX-License-Identifier: BSL-1.0 */
/* subcommands.c -- see subcommands.h. */
#include <stdio.h>
#include <string.h>

#include <extmem/base.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/subcommands.h"

/* "a command is missing: load, get or scan" */
static void missing(const char *name, const subcommands *all)
{
	char text[256] = "";
	size_t i, at = 0;

	for (i = 0; i < all->n && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
				       i == 0 ? "" : i + 1 < all->n ? ", " : " or ", all->list[i].name);
	message(name, "a %s is missing: %s", all->what, text);
}

int subcommands_run(const char *name, const subcommands *all, int argc, char **argv)
{
	char full[64];
	size_t i;

	if (argc < 2) {
		missing(name, all);
		message_try_help(name);
		return CLI_TROUBLE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		fputs(all->help, stdout);
		return CLI_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("extmem %s\n", em_version());
		return CLI_OK;
	}
	for (i = 0; i < all->n; i++)
		if (!strcmp(argv[1], all->list[i].name)) {
			snprintf(full, sizeof(full), "%s %s", name, all->list[i].name);
			argv[1] = full;
			return all->list[i].run(argc - 1, argv + 1);
		}
	message(name, "%s: unknown %s", argv[1], argv[1][0] == '-' ? "option" : all->what);
	message_try_help(name);
	return CLI_TROUBLE;
}
