// What LupinRedis sees of hiredis: the writer of commands and the reader of replies, no sockets.
#pragma once
#include <hiredis/hiredis.h>
