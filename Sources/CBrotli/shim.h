// What LupinCoding sees of brotli: its decoder.
#pragma once
#include <brotli/decode.h>
