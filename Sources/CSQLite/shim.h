// What LupinStore sees of SQLite. Macros that Swift can't read get a static inline, nothing else.
#pragma once
#include <sqlite3.h>

/// SQLite copies the bytes.
static inline int sqlite_bind_text(sqlite3_stmt *statement, int place, const char *text, int count) {
    // Without a pointer SQLite would take an empty text for NULL.
    return sqlite3_bind_text(statement, place, text ? text : "", count, SQLITE_TRANSIENT);
}

static inline int sqlite_bind_blob(
    sqlite3_stmt *statement, int place, const void *bytes, int count) {
    // Without a pointer SQLite would take an empty blob for NULL.
    if (count == 0) return sqlite3_bind_zeroblob(statement, place, 0);
    return sqlite3_bind_blob(statement, place, bytes, count, SQLITE_TRANSIENT);
}

/// SQLite reads the bytes where they are, until the statement has run.
static inline int sqlite_lend_blob(
    sqlite3_stmt *statement, int place, const void *bytes, int count) {
    if (count == 0) return sqlite3_bind_zeroblob(statement, place, 0);
    return sqlite3_bind_blob(statement, place, bytes, count, SQLITE_STATIC);
}
