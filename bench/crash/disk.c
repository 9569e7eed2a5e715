/* A disk and a clock that fail on demand, between a process and its C library (LD_PRELOAD).
 *
 * Counts what changes a file below one folder: write, pwrite, writev, ftruncate, rename, unlink.
 * At the n-th change the process is killed, or half of it is written and the process is killed, or
 * from then on the disk is full. Also shifts the wall clock. Nothing happens until disk_arm().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WATCH = 0, KILL = 1, TEAR = 2, FULL = 3 };

static char folder[PATH_MAX];
static int mode;
static long at, count;
static long long shift;

void disk_arm(const char *below, int what, long number) {
    snprintf(folder, sizeof folder, "%s/", below);
    mode = what;
    at = number;
    count = 0;
}

long disk_count(void) { return count; }

void disk_clock(long long seconds) { shift = seconds; }

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int below(const char *path) {
    return folder[0] && strncmp(path, folder, strlen(folder)) == 0;
}

static int watched(int fd) {
    char link[64], path[PATH_MAX];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Another change begins: 0 to go on, 1 for a full disk, 2 for one to be torn. */
static int change(void) {
    long now = __sync_add_and_fetch(&count, 1);
    if (mode == FULL && now >= at) return 1;
    if (now != at) return 0;
    if (mode == KILL) die();
    return mode == TEAR ? 2 : 0;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FULL_DISK do { errno = ENOSPC; return -1; } while (0)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    if (watched(fd)) switch (change()) {
        case 1: FULL_DISK;
        case 2: if (real(fd, data, size / 2) < 0) {} die();
    }
    return real(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL(writev);
    if (watched(fd)) switch (change()) {
        case 1: FULL_DISK;
        case 2: if (real(fd, parts, number / 2) < 0) {} die();
    }
    return real(fd, parts, number);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t where) {
    REAL(pwrite);
    if (watched(fd)) switch (change()) {
        case 1: FULL_DISK;
        case 2: if (real(fd, data, size / 2, where) < 0) {} die();
    }
    return real(fd, data, size, where);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t where) {
    REAL(pwrite64);
    if (watched(fd)) switch (change()) {
        case 1: FULL_DISK;
        case 2: if (real(fd, data, size / 2, where) < 0) {} die();
    }
    return real(fd, data, size, where);
}

int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    if (watched(fd)) switch (change()) { case 1: FULL_DISK; case 2: die(); }
    return real(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    if (watched(fd)) switch (change()) { case 1: FULL_DISK; case 2: die(); }
    return real(fd, size);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    if (below(to)) switch (change()) { case 1: FULL_DISK; case 2: die(); }
    return real(from, to);
}

int unlink(const char *path) { /* takes no space: a full disk allows it */
    REAL(unlink);
    if (below(path) && change() == 2) die();
    return real(path);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(which, now);
    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift;
    return result;
}
