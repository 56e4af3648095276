// What LupinWire sees of nghttp2.
#pragma once
#include <nghttp2/nghttp2.h>
