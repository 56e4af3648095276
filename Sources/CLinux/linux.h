// What Swift's Glibc module lacks of Linux: epoll, eventfd, accept4, splice, signalfd, pipe2,
// inotify, rtnetlink, sock_diag, statfs, files without a name, reads that don't wait, and files below
// a folder.
// Static inline functions only; no logic.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

// Declared here because the headers show them only under _GNU_SOURCE, which would give types that
// Swift's Glibc module has already seen a second definition.
extern int accept4(int, struct sockaddr *, socklen_t *, int);
extern int pipe2(int[2], int);
extern ssize_t splice(int, off_t *, int, off_t *, size_t, unsigned int);
extern ssize_t vmsplice(int, const struct iovec *, size_t, unsigned int);
extern int sched_getaffinity(int, size_t, void *);
extern int malloc_trim(size_t);
extern ssize_t preadv2(int, const struct iovec *, int, off_t, int);
extern long syscall(long, ...);
extern int prctl(int, ...);
extern int memfd_create(const char *, unsigned int);

enum {
    LINUX_EPOLLIN = EPOLLIN,
    LINUX_EPOLLOUT = EPOLLOUT,
    LINUX_EPOLLERR = EPOLLERR,
    LINUX_EPOLLHUP = EPOLLHUP,
    LINUX_EPOLLRDHUP = EPOLLRDHUP,
};
static const uint32_t LINUX_EPOLLET = 1u << 31;
static const uint32_t LINUX_EPOLLEXCLUSIVE = 1u << 28;

static inline int linux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int linux_epoll_add(int epoll, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data.u64 = data};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static inline int linux_epoll_modify(int epoll, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data.u64 = data};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

static inline int linux_epoll_delete(int epoll, int fd) {
    return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
}

static inline uint64_t linux_event_data(const struct epoll_event *_Nonnull events, int i) {
    return events[i].data.u64;
}

static inline uint32_t linux_event_bits(const struct epoll_event *_Nonnull events, int i) {
    return events[i].events;
}

static inline int linux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// A file without a name, in memory; closed on exec (MFD_CLOEXEC).
static inline int linux_memory_file(void) { return memfd_create("lupin", 1u); }

static inline int linux_socket_pair(int *ends) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
}

static inline int linux_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static inline int linux_accept(
    int fd, struct sockaddr_storage *_Nonnull address, socklen_t *_Nonnull length) {
    *length = sizeof *address;
    return accept4(fd, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int linux_pipe(int *_Nonnull read_end, int *_Nonnull write_end) {
    int ends[2];
    int result = pipe2(ends, O_NONBLOCK | O_CLOEXEC);
    if (result == 0) { *read_end = ends[0]; *write_end = ends[1]; }
    return result;
}

static inline ssize_t linux_splice(int from, int to, size_t count) {
    return splice(from, NULL, to, NULL, count, 0x01 | 0x02 /* MOVE | NONBLOCK */);
}

static inline ssize_t linux_splice_file(int file, int64_t offset, int pipe, size_t count) {
    off_t start = offset;
    return splice(file, &start, pipe, NULL, count, 0x01 | 0x02 /* MOVE | NONBLOCK */);
}

static inline ssize_t linux_splice_memory(const void *_Nonnull from, size_t count, int pipe) {
    struct iovec piece = {.iov_base = (void *)from, .iov_len = count};
    return vmsplice(pipe, &piece, 1, 0x02 /* NONBLOCK */);
}

// Sends bytes that others follow at once.
static inline ssize_t linux_send_more(int fd, const void *_Nullable bytes, size_t count) {
    return send(fd, bytes, count, MSG_MORE);
}

static inline int linux_set_pipe_size(int fd, int size) {
    return fcntl(fd, 1031 /* F_SETPIPE_SZ */, size);
}

static inline int linux_signalfd(const sigset_t *_Nonnull mask) {
    return signalfd(-1, mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static inline int linux_set_option(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value);
}

/// For how many milliseconds the peer has acknowledged nothing of what is on its way; 0 if all is
/// acknowledged.
static inline unsigned linux_unacknowledged(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
    return info.tcpi_unacked > 0 ? info.tcpi_last_ack_recv : 0;
}

static inline int linux_use_reno(int fd) {
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

static inline int linux_set_linger_zero(int fd) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

static inline int linux_socket_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : -1;
}

/// Fills `out` with an address; `bytes` are in network order, 4 or 16 of them by `family`.
static inline socklen_t linux_make_address(
    int family, const uint8_t *_Nonnull bytes, uint16_t port,
    struct sockaddr_storage *_Nonnull out) {
    memset(out, 0, sizeof *out);
    if (family == AF_INET) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, bytes, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, bytes, 16);
    return sizeof *in6;
}

/// Reads an address; returns 4 or 16 for the bytes written in network order, 0 for other families.
static inline int linux_read_address(
    const struct sockaddr_storage *_Nonnull in, uint8_t *_Nonnull bytes,
    uint16_t *_Nonnull port) {
    if (in->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)in;
        memcpy(bytes, &v4->sin_addr, 4);
        *port = ntohs(v4->sin_port);
        return 4;
    }
    if (in->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)in;
        memcpy(bytes, &v6->sin6_addr, 16);
        *port = ntohs(v6->sin6_port);
        return 16;
    }
    return 0;
}

static inline int linux_bind(
    int fd, const struct sockaddr_storage *_Nonnull address, socklen_t length) {
    return bind(fd, (const struct sockaddr *)address, length);
}

static inline int linux_connect(
    int fd, const struct sockaddr_storage *_Nonnull address, socklen_t length) {
    return connect(fd, (const struct sockaddr *)address, length);
}

static inline int linux_local_address(int fd, struct sockaddr_storage *_Nonnull address) {
    socklen_t length = sizeof *address;
    return getsockname(fd, (struct sockaddr *)address, &length);
}

static inline int linux_local_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/// Fills `out` with the address of a local socket with a path, or with a name that is no file's (an
/// abstract one, unix(7)); returns 0 when that is too long for one.
static inline socklen_t linux_make_local_address(
    const char *_Nonnull name, bool isAbstract, struct sockaddr_storage *_Nonnull out) {
    struct sockaddr_un *un = (struct sockaddr_un *)out;
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof un->sun_path) return 0;
    memset(out, 0, sizeof *out);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path + (isAbstract ? 1 : 0), name, length);
    // All bytes of a name count.
    size_t start = offsetof(struct sockaddr_un, sun_path);
    return (socklen_t)(isAbstract ? start + 1 + length : sizeof *un);
}

/// Whether a descriptor is a stream socket that listens.
static inline int linux_is_listening(int fd) {
    int type = 0, listens = 0;
    socklen_t length = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) return 0;
    length = sizeof listens;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens;
}

/// Fills `path` with the path that a local socket is bound to; returns its length, 0 for other
/// families and for names outside the file system.
static inline size_t linux_local_path(int fd, char *_Nonnull path, size_t room) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    const struct sockaddr_un *un = (const struct sockaddr_un *)&storage;
    if (getsockname(fd, (struct sockaddr *)&storage, &length) != 0) return 0;
    if (storage.ss_family != AF_UNIX || length <= sizeof un->sun_family) return 0;
    size_t count = strnlen(un->sun_path, length - sizeof un->sun_family);
    if (count > room) return 0;
    memcpy(path, un->sun_path, count);
    return count;
}

static inline int linux_datagram_socket(void) {
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/// Sends a datagram to a local socket; an "@" at the start of its name stands for NUL.
static inline ssize_t linux_send_datagram(
    int fd, const char *_Nonnull name, const void *_Nullable bytes, size_t count) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof to.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(to.sun_path, name, length);
    if (name[0] == '@') to.sun_path[0] = 0;
    // A path ends with NUL; an abstract name has exactly these bytes.
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] != '@'));
    return sendto(fd, bytes, count, MSG_NOSIGNAL, (const struct sockaddr *)&to, size);
}

/// A copy of a descriptor that is closed on exec.
static inline int linux_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }

/// Closes a descriptor on exec, and has calls on it return at once; fails where there is none.
static inline int linux_adopt(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return -1;
    return fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static inline int linux_watch_begin(void) { return inotify_init1(IN_NONBLOCK | IN_CLOEXEC); }

/// Watches a directory for files that come, go, are written or get other rights, and for its own
/// end. Not for every write: a log may lie there too.
static inline int linux_watch_add(int fd, const char *_Nonnull path) {
    return inotify_add_watch(
        fd, path,
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB
            | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

static inline int linux_watch_remove(int fd, int watch) { return inotify_rm_watch(fd, watch); }

/// A socket on which the kernel tells of changes of routes, addresses and links.
static inline int linux_route_socket(void) {
    return socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
}

/// Has the kernel begin to tell; it needs no privilege.
static inline int linux_route_listen(int fd) {
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE
            | RTMGRP_IPV6_ROUTE,
    };
    return bind(fd, (const struct sockaddr *)&address, sizeof address);
}

// The type of the file system that a path lies on, as linux/magic.h names them.
static inline int linux_file_system(const char *_Nonnull path, uint32_t *_Nonnull type) {
    struct statfs status = {0};
    int result = statfs(path, &status);
    *type = (uint32_t)status.f_type;
    return result;
}

// A socket that asks the kernel about TCP sockets; see sock_diag(7).
static inline int linux_diagnosis_socket(void) {
    return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

// Asks for the one TCP socket with these two ends, of 4 bytes each, or of 16 for AF_INET6.
static inline ssize_t linux_diagnosis_ask(
    int fd, int family, uint32_t number, const uint8_t *_Nonnull local, uint16_t local_port,
    const uint8_t *_Nonnull remote, uint16_t remote_port
) {
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } message;
    memset(&message, 0, sizeof message);
    size_t bytes = family == AF_INET6 ? 16 : 4;
    message.head.nlmsg_len = sizeof message;
    message.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    message.head.nlmsg_flags = NLM_F_REQUEST;
    message.head.nlmsg_seq = number;
    message.request.sdiag_family = (uint8_t)family;
    message.request.sdiag_protocol = IPPROTO_TCP;
    message.request.idiag_states = ~0u;
    memcpy(message.request.id.idiag_src, local, bytes);
    memcpy(message.request.id.idiag_dst, remote, bytes);
    message.request.id.idiag_sport = htons(local_port);
    message.request.id.idiag_dport = htons(remote_port);
    message.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    message.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return send(fd, &message, sizeof message, 0);
}

// What the kernel says of a socket: its two ends, who made it, and its inode, 0 where no process
// holds it any more.
struct linux_diagnosed_socket {
    struct sockaddr_storage local;
    struct sockaddr_storage remote;
    uint32_t user;
    uint32_t inode;
};

// Reads an answer: its number, its type, the error of one that is none, and the socket of one that
// is about one.
static inline ssize_t linux_diagnosis_read(
    int fd, uint32_t *_Nonnull number, uint16_t *_Nonnull type, int32_t *_Nonnull error,
    struct linux_diagnosed_socket *_Nonnull found
) {
    struct {
        struct nlmsghdr head;
        union {
            struct nlmsgerr error;
            struct inet_diag_msg socket;
            uint8_t room[1024];
        };
    } message;
    memset(&message, 0, sizeof message);
    ssize_t count = recv(fd, &message, sizeof message, 0);
    *number = message.head.nlmsg_seq;
    *type = message.head.nlmsg_type;
    *error = message.error.error;
    const struct inet_diag_sockid *id = &message.socket.id;
    int family = message.socket.idiag_family;
    linux_make_address(
        family, (const uint8_t *)id->idiag_src, ntohs(id->idiag_sport), &found->local);
    linux_make_address(
        family, (const uint8_t *)id->idiag_dst, ntohs(id->idiag_dport), &found->remote);
    found->user = message.socket.idiag_uid;
    found->inode = message.socket.idiag_inode;
    return count;
}

// The types of answers, which are macros.
static const uint16_t LINUX_DIAGNOSIS_SOCKET = SOCK_DIAG_BY_FAMILY;
static const uint16_t LINUX_DIAGNOSIS_ERROR = NLMSG_ERROR;

/// Opens a file without a name in a directory, for us alone. O_EXCL: it can never be given one.
static inline int linux_nameless_file(const char *_Nonnull folder) {
    // O_TMPFILE, which the headers show only under _GNU_SOURCE.
    return open(folder, __O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
}

/// Reads what the page cache holds; EAGAIN where the disk would be waited for.
static inline ssize_t linux_read_cached(
    int fd, void *_Nonnull bytes, size_t count, off_t offset) {
    struct iovec room = {.iov_base = bytes, .iov_len = count};
    return preadv2(fd, &room, 1, offset, 0x08 /* RWF_NOWAIT */);
}

/// Opens a file below a folder for reading; EXDEV where `path` leads out of it by `..`, a link or
/// a mount point of /proc. ENOSYS before Linux 5.6.
static inline int linux_open_below(int folder, const char *_Nonnull path) {
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/// Whether a file has an access control list, which may let more users write than its mode says.
static inline int linux_has_access_list(const char *_Nonnull path) {
    return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/// The same for an open file.
static inline int linux_open_has_access_list(int descriptor) {
    return fgetxattr(descriptor, "system.posix_acl_access", NULL, 0) > 0;
}

/// The `NAME=value` lines of this process, with NULL behind them.
static inline char *_Nullable *_Nullable linux_environment(void) {
    extern char **environ;
    return environ;
}

/// Replaces the list of this process's variables; the old one stays where it is.
static inline void linux_set_environment(char *_Nullable *_Nonnull list) {
    extern char **environ;
    environ = list;
}

/// No core file; no tracing and no reading of memory and environment by the same user
/// (PR_SET_DUMPABLE).
static inline int linux_refuse_dumps(void) { return prctl(4, 0L, 0L, 0L, 0L); }

/// Names the calling thread (PR_SET_NAME); the kernel keeps 15 bytes.
static inline int linux_name_thread(const char *_Nonnull name) { return prctl(15, name, 0L, 0L, 0L); }

/// posix_spawn(3): the process leads a session of its own.
static const int LINUX_SPAWN_SESSION = 0x80;

/// posix_spawn(3): changes the working folder, and closes all descriptors from a number on (glibc
/// 2.34). Without <spawn.h>, whose types would count as this module's then.
int linux_spawn_change_folder(void *_Nonnull actions, const char *_Nonnull path)
    __asm__("posix_spawn_file_actions_addchdir_np");
int linux_spawn_close_from(void *_Nonnull actions, int first)
    __asm__("posix_spawn_file_actions_addclosefrom_np");

static inline int linux_trim_heap(void) { return malloc_trim(0); }

static inline int linux_cpu_count(void) {
    unsigned long mask[16] = {0};
    int count = 0;
    if (sched_getaffinity(0, sizeof mask, mask) < 0) return 1;
    for (int i = 0; i < 16; i++) count += __builtin_popcountl(mask[i]);
    return count > 0 ? count : 1;
}
