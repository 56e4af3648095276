// What LupinCoding sees of zstd.
#pragma once
#include <zstd.h>
#include <zstd_errors.h>
