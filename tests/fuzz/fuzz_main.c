/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fuzz_main.c -- runs a fuzz target where there is no fuzzer.
 *
 *     fuzz_NAME             some thousand random inputs, from a seed that is printed and that EXTMEM_TEST_SEED
 *                           overrides
 *     fuzz_NAME FILE...     these inputs, such as a fuzzer's findings
 *
 * Without feedback from the code, uniformly random bytes would hardly get anywhere; so most inputs are made of few
 * bytes, of pieces of keys and of numbers, and of runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/test.h"

#define INPUTS 4000
#define BYTES_MOST 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void one_input(const unsigned char *p, size_t n)
{
	/* As large as it is, for sanitizers. */
	unsigned char *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	if (n)
		memcpy(copy, p, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static void random_input(test_rng *rng)
{
	static const char *const piece[] = { "1", "2,3", "1.2", ",1.0", "n", "g", "h", "M", "V", "b", "d", "f", "i",
					     "r", "-12.50", "1e9", " jan", "10K", "a-1.2.tar.gz~", "\t",
					     "99999999999999999999", ",", "\"" };
	unsigned char buf[BYTES_MOST + 32];
	const size_t most = test_below(rng, 4) ? 64 : BYTES_MOST;
	size_t n = 0, run;
	const char *s;
	int c;

	while (n < most && test_below(rng, 40)) {
		switch (test_below(rng, 4)) {
		case 0:
			buf[n++] = (unsigned char)test_random(rng);
			break;
		case 1:
			buf[n++] = (unsigned char)test_below(rng, 4);
			break;
		case 2:
			s = piece[test_below(rng, sizeof(piece) / sizeof(piece[0]))];
			memcpy(buf + n, s, strlen(s));
			n += strlen(s);
			break;
		default:
			c = (int)test_below(rng, 2) ? 'a' : '0';
			for (run = test_below(rng, 10); run; run--)
				buf[n++] = (unsigned char)c;
		}
	}
	one_input(buf, n);
}

static int file_input(const char *path)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p = NULL;
	size_t n = 0, got;

	if (!f) {
		perror(path);
		return -1;
	}
	do {
		p = realloc(p, n + 65536);
		if (!p)
			abort();
		got = fread(p + n, 1, 65536, f);
		n += got;
	} while (got);
	fclose(f);
	one_input(p, n);
	free(p);
	return 0;
}

int main(int argc, char **argv)
{
	test_rng rng;
	int i;

	if (argc > 1) {
		for (i = 1; i < argc; i++)
			if (file_input(argv[i]))
				return 2;
		return 0;
	}
	rng = test_rng_make(test_seed());
	for (i = 0; i < INPUTS; i++)
		random_input(&rng);
	return 0;
}
