/* SPDX-License-Identifier: BSL-1.0 */
/*
 * version.c -- the version of the library that is running, which may differ from the headers', and what it was built
 * with.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <string.h>

#include <extmem/base.h>

#ifdef HAVE_LIBAIO
#define WITH_LIBAIO 1
#else
#define WITH_LIBAIO 0
#endif
#ifdef HAVE_LINUX_IO_URING_H
#define WITH_IO_URING 1
#else
#define WITH_IO_URING 0
#endif
#ifdef HAVE_LZ4
#define WITH_LZ4 1
#else
#define WITH_LZ4 0
#endif
#if HAVE_KERN_AVX2
#define WITH_AVX2 1
#else
#define WITH_AVX2 0
#endif
#if HAVE_KERN_AVX512
#define WITH_AVX512 1
#else
#define WITH_AVX512 0
#endif

static const struct {
	const char *name;
	int there;
} features[] = {
	{ "libaio", WITH_LIBAIO },
	{ "io_uring", WITH_IO_URING },
	{ "lz4", WITH_LZ4 },
	{ "avx2", WITH_AVX2 },
	{ "avx512", WITH_AVX512 },
};

enum { FEATURES = sizeof features / sizeof features[0] };

const char *em_version(void)
{
	return EM_VERSION_STRING;
}

uint32_t em_version_number(void)
{
	return EM_VERSION_NUMBER;
}

uint32_t em_feature_count(void)
{
	return FEATURES;
}

const char *em_feature_at(uint32_t i)
{
	return i < FEATURES ? features[i].name : NULL;
}

int em_feature(const char *name)
{
	uint32_t i;

	if (name == NULL)
		return 0;
	for (i = 0; i < FEATURES; i++)
		if (strcmp(features[i].name, name) == 0)
			return features[i].there;
	return 0;
}
