// Who is at the other end of a local socket, and in which network.
// Static inline functions only; no logic.
#pragma once
#include <errno.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/// struct ucred, which the headers show only under _GNU_SOURCE.
struct linux_peer {
    /// Its number in the reader's pid namespace; 0 where it has none there.
    int32_t process;
    uint32_t user;
    uint32_t group;
};

/// Who made the other end of a local socket; 0 where the kernel tells.
static inline int linux_read_peer(int fd, struct linux_peer *_Nonnull peer) {
    socklen_t length = sizeof *peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &length);
}

/// Whether the client of an accepted local socket is in another network namespace.
///
/// The accepted end belongs to the client's namespace. Before Linux 5.14 the kernel doesn't tell,
/// and the answer is false.
static inline bool linux_client_is_elsewhere(int listener, int accepted) {
    uint64_t ours = 0, theirs = 0;
    socklen_t length = sizeof ours;
    const int netns_cookie = 71;  // SO_NETNS_COOKIE, younger than some headers.
    if (getsockopt(listener, SOL_SOCKET, netns_cookie, &ours, &length) != 0) return false;
    return getsockopt(accepted, SOL_SOCKET, netns_cookie, &theirs, &length) != 0 || ours != theirs;
}

/// A descriptor of the user namespace that owns a socket's network; fails with EPERM where this
/// process has no rights over that network.
static inline int linux_network_owner(int fd) {
    int network = ioctl(fd, SIOCGSKNS);
    if (network < 0) return -1;
    int owner = ioctl(network, NS_GET_USERNS);
    // Not to be mistaken for the other EPERM.
    int code = owner < 0 ? ESRCH : 0;
    close(network);
    errno = code;
    return owner;
}
