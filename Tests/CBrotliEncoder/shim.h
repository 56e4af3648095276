// What the tests see of brotli's encoder, which lupin itself never links.
#pragma once
#include <brotli/encode.h>
