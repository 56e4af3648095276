// What Swift's Glibc module lacks for a process that confines another: namespaces, mounts,
// capabilities, filters of system calls, and descriptors that go from one process to another.
// Static inline functions only; no logic.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

// Declared here, as in linux.h: the headers show them only under _GNU_SOURCE, or define what the
// kernel's headers define, too.
extern int unshare(int);
extern int mount(
    const char *_Nullable, const char *_Nonnull, const char *_Nullable, unsigned long,
    const void *_Nullable);
extern int prctl(int, ...);
extern long syscall(long, ...);

static const uint32_t CONFINE_NEW_MOUNTS = 0x00020000;
static const uint32_t CONFINE_NEW_IPC = 0x08000000;
static const uint32_t CONFINE_NEW_USER = 0x10000000;
static const uint32_t CONFINE_NEW_PROCESSES = 0x20000000;
static const uint32_t CONFINE_NEW_NETWORK = 0x40000000;

static const uint32_t CONFINE_READ_ONLY = 1;
static const uint32_t CONFINE_NO_SETUID = 2;
static const uint32_t CONFINE_NO_DEVICES = 4;
static const uint32_t CONFINE_NO_PROGRAMS = 8;
static const uint32_t CONFINE_REMOUNT = 32;
static const uint32_t CONFINE_BIND = 4096;
static const uint32_t CONFINE_RECURSIVE = 16384;
static const uint32_t CONFINE_PRIVATE = 1 << 18;

static inline int confine_unshare(int what) { return unshare(what); }

/// A copy of this process, which must have one thread only: 0 in the copy.
static inline int confine_fork(void) { return (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

static inline int confine_mount(
    const char *_Nonnull source, const char *_Nonnull place, const char *_Nullable type,
    unsigned long flags, const char *_Nullable options) {
    return mount(source, place, type, flags, options);
}

/// Makes all mounts at and below a place read-only, without programs that set their user; ENOSYS
/// before Linux 5.12.
static inline int confine_seal(const char *_Nonnull place) {
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
    return (int)syscall(
        SYS_mount_setattr, -100 /* AT_FDCWD */, place, 0x8000 /* AT_RECURSIVE */, &attributes,
        sizeof attributes);
}

/// A copy of the mounts at and below a place, which is mounted nowhere yet.
static inline int confine_copy_tree(const char *_Nonnull place) {
    return (int)syscall(
        428 /* SYS_open_tree */, -100 /* AT_FDCWD */, place,
        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | 0x8000 /* AT_RECURSIVE */);
}

/// A copy of the mount at a place alone, by which nothing can be changed; mounted nowhere.
static inline int confine_copy_sealed(const char *_Nonnull place) {
    int tree = (int)syscall(
        428 /* SYS_open_tree */, -100 /* AT_FDCWD */, place, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0) return -1;
    struct mount_attr attributes = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    long result = syscall(
        SYS_mount_setattr, tree, "", 0x1000 /* AT_EMPTY_PATH */, &attributes, sizeof attributes);
    if (result == 0) return tree;
    int error = errno;
    close(tree);
    errno = error;
    return -1;
}

/// Mounts such a copy, or a new file system, at a place.
static inline int confine_place(int tree, const char *_Nonnull place) {
    return (int)syscall(
        429 /* SYS_move_mount */, tree, "", -100 /* AT_FDCWD */, place, MOVE_MOUNT_F_EMPTY_PATH);
}

/// A file system that shows the folder `lower` and keeps changes in `upper`; mounted nowhere yet.
static inline int confine_overlay(
    const char *_Nonnull lower, const char *_Nonnull upper, const char *_Nonnull work) {
    int context = (int)syscall(430 /* SYS_fsopen */, "overlay", FSOPEN_CLOEXEC);
    if (context < 0) return -1;
    long result =
        syscall(431 /* SYS_fsconfig */, context, FSCONFIG_SET_STRING, "lowerdir", lower, 0);
    if (result == 0)
        result = syscall(431, context, FSCONFIG_SET_STRING, "upperdir", upper, 0);
    if (result == 0) result = syscall(431, context, FSCONFIG_SET_STRING, "workdir", work, 0);
    // The attributes of trusted ones are for root alone.
    if (result == 0) result = syscall(431, context, FSCONFIG_SET_FLAG, "userxattr", NULL, 0);
    if (result == 0) result = syscall(431, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
    if (result == 0)
        result = syscall(432 /* SYS_fsmount */, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
    int error = errno;
    close(context);
    errno = error;
    return (int)result;
}

/// Ends this process when its parent ends.
static inline int confine_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL); }

/// Privileges can't be gained any more, not by programs that set their user either.
static inline int confine_keep_unprivileged(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

/// User 0 has no capabilities by its number, and this can't be undone.
static inline int confine_disarm_root(void) {
    return prctl(
        PR_SET_SECUREBITS,
        SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED
            | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE
            | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
}

/// Drops a capability for this process and its children; EINVAL beyond the last one.
static inline int confine_drop_bound(int capability) {
    return prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static inline int confine_drop_ambient(void) {
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/// Drops every capability that is in force or could be.
static inline int confine_drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    return (int)syscall(SYS_capset, &header, none);
}

/// One instruction of a filter of system calls.
static inline struct sock_filter confine_step(uint16_t code, uint8_t yes, uint8_t no, uint32_t k) {
    struct sock_filter step = {.code = code, .jt = yes, .jf = no, .k = k};
    return step;
}

static const uint32_t CONFINE_LOAD = BPF_LD | BPF_W | BPF_ABS;
static const uint32_t CONFINE_IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K;
static const uint32_t CONFINE_IF_AT_LEAST = BPF_JMP | BPF_JGE | BPF_K;
static const uint32_t CONFINE_RETURN = BPF_RET | BPF_K;
static const uint32_t CONFINE_AND = BPF_ALU | BPF_AND | BPF_K;

static const uint32_t CONFINE_CALL_NUMBER = offsetof(struct seccomp_data, nr);
static const uint32_t CONFINE_CALL_MACHINE = offsetof(struct seccomp_data, arch);
static const uint32_t CONFINE_CALL_FIRST = offsetof(struct seccomp_data, args[0]);
static const uint32_t CONFINE_CALL_SECOND = offsetof(struct seccomp_data, args[1]);
static const uint32_t CONFINE_CALL_THIRD = offsetof(struct seccomp_data, args[2]);
static const uint32_t CONFINE_CALL_FOURTH = offsetof(struct seccomp_data, args[3]);

static const uint32_t CONFINE_SOCKET = SYS_socket;
static const uint32_t CONFINE_SOCKET_PAIR = SYS_socketpair;
static const uint32_t CONFINE_IOCTL = SYS_ioctl;
static const uint32_t CONFINE_RING = SYS_io_uring_setup;
static const uint32_t CONFINE_ADD_KEY = SYS_add_key;
static const uint32_t CONFINE_REQUEST_KEY = SYS_request_key;
static const uint32_t CONFINE_KEYS = SYS_keyctl;
static const uint32_t CONFINE_UNSHARE = SYS_unshare;
static const uint32_t CONFINE_CLONE = SYS_clone;
static const uint32_t CONFINE_CLONE_BY_STRUCT = 435;  // SYS_clone3
static const uint32_t CONFINE_ENTER = SYS_setns;
static const uint32_t CONFINE_MODE_OF_OPEN = SYS_fchmod;
static const uint32_t CONFINE_MODE_AT = SYS_fchmodat;
static const uint32_t CONFINE_MODE_AT_BY_FLAGS = 452;  // SYS_fchmodat2
static const uint32_t CONFINE_NODE_AT = SYS_mknodat;
static const uint32_t CONFINE_OPEN_AT = SYS_openat;
static const uint32_t CONFINE_OPEN_BY_STRUCT = SYS_openat2;
#if defined(__x86_64__)
static const uint32_t CONFINE_MACHINE = AUDIT_ARCH_X86_64;
static const uint32_t CONFINE_MODE = SYS_chmod;
static const uint32_t CONFINE_NODE = SYS_mknod;
static const uint32_t CONFINE_CREATE = SYS_creat;
static const uint32_t CONFINE_OPEN = SYS_open;
#elif defined(__aarch64__)
static const uint32_t CONFINE_MACHINE = AUDIT_ARCH_AARCH64;
// It has only the calls that name a folder, too: numbers of none.
static const uint32_t CONFINE_MODE = 0x3FFFFFFF;
static const uint32_t CONFINE_NODE = 0x3FFFFFFF;
static const uint32_t CONFINE_CREATE = 0x3FFFFFFF;
static const uint32_t CONFINE_OPEN = 0x3FFFFFFF;
#else
#error "which machine is this?"
#endif
static const uint32_t CONFINE_ALLOW = SECCOMP_RET_ALLOW;
static const uint32_t CONFINE_REFUSE = SECCOMP_RET_ERRNO;

/// Applies a filter to all system calls of this process and its children, for good.
static inline int confine_filter_calls(const struct sock_filter *_Nonnull steps, uint16_t count) {
    struct sock_fprog program = {.len = count, .filter = (struct sock_filter *)steps};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static const uint32_t CONFINE_CONNECT = SYS_connect;
static const uint32_t CONFINE_ASK = SECCOMP_RET_USER_NOTIF;

/// Applies a filter, and returns a descriptor at which the kernel asks before each system call for
/// which that says CONFINE_ASK; EINVAL before Linux 5.0, EBUSY where another filter asks already.
static inline int confine_watch_calls(const struct sock_filter *_Nonnull steps, uint16_t count) {
    struct sock_fprog program = {.len = count, .filter = (struct sock_filter *)steps};
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Since Linux 5.19 (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV): a call that was taken is not begun
    // anew by a signal.
    int watch = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | 1 << 5, &program);
    if (watch >= 0 || errno != EINVAL) return watch;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/// Takes the next system call that waits for an answer.
static inline int confine_next_call(int watch, struct seccomp_notif *_Nonnull call) {
    memset(call, 0, sizeof *call);
    return ioctl(watch, SECCOMP_IOCTL_NOTIF_RECV, call);
}

/// Whether a call still waits: its process has not ended, and no other one has its number.
static inline int confine_is_waiting(int watch, uint64_t call) {
    return ioctl(watch, SECCOMP_IOCTL_NOTIF_ID_VALID, &call);
}

/// Has a call return 0, or fail with an errno value.
static inline int confine_answer(int watch, uint64_t call, int error) {
    struct seccomp_notif_resp answer = {.id = call, .error = -error};
    return ioctl(watch, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/// A descriptor for what a descriptor of another process is open for; ENOSYS before Linux 5.6.
static inline int confine_copy(int process, int fd) {
    int handle = (int)syscall(434 /* SYS_pidfd_open */, process, 0);
    if (handle < 0) return -1;
    int copy = (int)syscall(438 /* SYS_pidfd_getfd */, handle, fd, 0);
    int error = errno;
    close(handle);
    errno = error;
    return copy;
}

static inline int confine_socket_type(int fd) {
    int type = -1;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ? -1 : type;
}

static inline void confine_interrupt(int number) { (void)number; }

/// Has SIGURG interrupt the calls of threads that don't block it.
static inline int confine_take_interrupts(void) {
    struct sigaction action = {.sa_handler = confine_interrupt};
    return sigaction(SIGURG, &action, NULL);
}

/// connect(2). A thread that doesn't block SIGURG is interrupted by that in its wait, after a time
/// and again and again: EINTR; after no time at all the call is as usual.
static inline int confine_connect(
    int fd, const void *_Nonnull address, socklen_t length, long nanoseconds) {
    struct sigevent event = {.sigev_signo = SIGURG, .sigev_notify = 4 /* SIGEV_THREAD_ID */};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct itimerspec times = {{0, nanoseconds}, {0, nanoseconds}};
    int timer = -1;
    if (nanoseconds == 0) return connect(fd, (const struct sockaddr *)address, length);
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) < 0) {
        errno = EINTR;
        return -1;
    }
    syscall(SYS_timer_settime, timer, 0, &times, NULL);
    int result = connect(fd, (const struct sockaddr *)address, length);
    int error = errno;
    syscall(SYS_timer_delete, timer);
    errno = error;
    return result;
}

/// A descriptor that only names what lies at a path, with `root` as the root of the path and of all
/// links on the way; the last link itself with O_NOFOLLOW.
static inline int confine_name(int root, const char *_Nonnull path, int flags) {
    struct open_how how = {
        .flags = (uint64_t)(O_CLOEXEC | 010000000 /* O_PATH */ | flags),
        .resolve = RESOLVE_IN_ROOT,
    };
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static inline unsigned confine_major(uint64_t device) { return major(device); }

static inline unsigned confine_minor(uint64_t device) { return minor(device); }

/// Whether two descriptors of this process came of one opening of a file: 0 if so, -1 where the
/// kernel does not say.
static inline int confine_compare(int one, int other) {
    pid_t own = getpid();
    return (int)syscall(SYS_kcmp, own, own, 0 /* KCMP_FILE */, one, other);
}

/// Turns the loopback interface on.
static inline int confine_raise_loopback(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    struct ifreq request = {.ifr_name = "lo"};
    int result = ioctl(fd, SIOCGIFFLAGS, &request);
    request.ifr_flags |= IFF_UP;
    if (result == 0) result = ioctl(fd, SIOCSIFFLAGS, &request);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

/// Hands descriptors to the process at the other end of a local socket, with one byte.
static inline ssize_t confine_send(int fd, const int *_Nonnull passed, size_t count) {
    char byte = 1;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    if (count > 8) {
        errno = EINVAL;
        return -1;
    }
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = control.room,
        .msg_controllen = CMSG_SPACE(count * sizeof(int)),
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), passed, count * sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

/// Takes descriptors from the process at the other end, at most 8; returns what recvmsg(2) does.
static inline ssize_t confine_receive(int fd, int *_Nonnull passed, size_t *_Nonnull count) {
    char byte = 0;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = control.room,
        .msg_controllen = sizeof control.room,
    };
    *count = 0;
    ssize_t result = recvmsg(fd, &message, 0x40000000 /* MSG_CMSG_CLOEXEC */);
    if (result <= 0) return result;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
        *count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(passed, CMSG_DATA(head), *count * sizeof(int));
        break;
    }
    return result;
}

/// Closes every descriptor from `first` on; ENOSYS before Linux 5.9.
static inline int confine_close_from(unsigned first) {
    return (int)syscall(436 /* SYS_close_range */, first, ~0u, 0);
}

/// Waits for one of these signals, which are blocked; returns its number, and tells how it was sent
/// (SI_USER and the like), by which process (0 for one outside), and with which value.
static inline int confine_wait_for_signal(
    const sigset_t *_Nonnull set, int *_Nonnull code, int *_Nonnull sender, int *_Nonnull value) {
    siginfo_t info = {0};
    int number = sigwaitinfo(set, &info);
    *code = info.si_code;
    *sender = info.si_pid;
    *value = info.si_code == SI_QUEUE ? info.si_value.sival_int : 0;
    return number;
}

/// Sends a signal with a value.
static inline int confine_send_signal(int process, int number, int value) {
    return sigqueue(process, number, (union sigval){.sival_int = value});
}

/// Enters a session keyring that is new and empty (KEYCTL_JOIN_SESSION_KEYRING).
static inline int confine_renew_keyring(void) {
    return (int)syscall(SYS_keyctl, 1, NULL, 0, 0, 0);
}
