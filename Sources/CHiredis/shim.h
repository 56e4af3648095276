// What LupinRedis sees of hiredis: the writer of commands and the reader of replies, no sockets.
#pragma once
#include <hiredis/hiredis.h>

/// The longest list that a reader takes.
#define HIREDIS_ELEMENTS_MAX 65536

#if HIREDIS_MAJOR >= 1
typedef size_t hiredis_count;
#else
typedef int hiredis_count;
#endif

typedef void *(*hiredis_create_array)(const redisReadTask *, hiredis_count);

/// Where the library's own function is kept.
static inline hiredis_create_array *hiredis_own_create_array(void) {
    static hiredis_create_array own;
    return &own;
}

static inline void *hiredis_create_short_array(const redisReadTask *task, hiredis_count elements) {
    if ((unsigned long long)elements > HIREDIS_ELEMENTS_MAX) return NULL;
    return (*hiredis_own_create_array())(task, elements);
}

/// Has a reader refuse longer lists as if there were no memory for them.
static inline void hiredis_limit_lists(redisReader *reader) {
    // Every call writes the same, so threads need not agree.
    static redisReplyObjectFunctions functions;
    *hiredis_own_create_array() = reader->fn->createArray;
    functions = *reader->fn;
    functions.createArray = hiredis_create_short_array;
    reader->fn = &functions;
}
