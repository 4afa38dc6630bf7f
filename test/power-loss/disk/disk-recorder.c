/*
 * Records a process's file operations in one folder, for the disk images in test/power-loss.
 * Loaded with LD_PRELOAD. DISK_FOLDER: the folder (absolute, without symbolic links). DISK_LOG: the
 * log file, to which records are appended. DISK_SYNC_US: additional duration of a sync in
 * microseconds, to simulate a slow disk.
 *
 * A mutex makes a write and its record atomic, so that the log has the order of the effects. A sync
 * has two records: all records before the first are durable after the second. Calls that change a
 * file without a record of their content are recorded as UNSEEN; such a log gives no images.
 *
 * The hooks use raw system calls, because they must not call hooked functions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { OPENED = 1, CLOSED, WRITTEN, TRUNCATED, SYNC_BEGUN, SYNC_ENDED, UNLINKED, RENAMED, UNSEEN };

/* Header of a record, before its payload. test/power-loss/disk/disk-log.ts reads the log. */
struct header {
  uint32_t payload;
  uint32_t pid;
  uint32_t kind;
  uint32_t handle;
  int64_t ns;
  int64_t at;
};

#define FDS 65536
/* Bits in `at` of an OPENED record. */
#define IS_FOLDER 1
#define IS_EMPTIED 2

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static uint32_t handles[FDS];
static struct { dev_t device; ino_t inode; } files[FDS];
static uint32_t last_handle;
static char folder[PATH_MAX];
static size_t folder_length;
static long sync_us;
static int log_fd = -1;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("DISK_FOLDER"), *log = getenv("DISK_LOG"), *us = getenv("DISK_SYNC_US");
  if (name == NULL || log == NULL || strlen(name) >= sizeof folder) return;
  strcpy(folder, name);
  folder_length = strlen(folder);
  sync_us = us == NULL ? 0 : atol(us);
  log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) abort();
}

static void record(enum kind kind, uint32_t handle, int64_t at, const void *payload, size_t length) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct header header = {(uint32_t)length, (uint32_t)getpid(), kind, handle,
                          now.tv_sec * 1000000000LL + now.tv_nsec, at};
  struct iovec parts[] = {{&header, sizeof header}, {(void *)payload, length}};
  int saved = errno;
  long written = syscall(SYS_writev, log_fd, parts, 2);
  /* A log with a missing record proves nothing. */
  if (written != (long)(sizeof header + length)) abort();
  errno = saved;
}

/* Absolute path of a file in the folder; NULL for other files. */
static const char *path_of(int at, const char *path, char *whole) {
  if (log_fd < 0 || path == NULL) return NULL;
  if (path[0] != '/') {
    if (at != AT_FDCWD || syscall(SYS_getcwd, whole, PATH_MAX) < 0) return NULL;
    if (strlen(whole) + strlen(path) + 2 > PATH_MAX) return NULL;
    strcat(strcat(whole, "/"), path);
    path = whole;
  }
  if (strncmp(path, folder, folder_length) != 0) return NULL;
  return path[folder_length] == '/' || path[folder_length] == 0 ? path : NULL;
}

/* Handle of a file descriptor; 0 if not recorded. libuv closes some with raw system calls. */
static uint32_t handle_of(int fd) {
  if (fd < 0 || fd >= FDS || handles[fd] == 0) return 0;
  struct stat found;
  int saved = errno;
  if (fstat(fd, &found) != 0 || found.st_ino != files[fd].inode || found.st_dev != files[fd].device)
    handles[fd] = 0;
  errno = saved;
  return handles[fd];
}

static void unseen(const char *what) { record(UNSEEN, 0, 0, what, strlen(what)); }

static int opened(int at, const char *path, int flags, mode_t mode) {
  char whole[PATH_MAX];
  const char *named = path_of(at, path, whole);
  if (named == NULL) return syscall(SYS_openat, at, path, flags, mode);
  pthread_mutex_lock(&turn);
  int fd = syscall(SYS_openat, at, path, flags, mode);
  if (fd >= FDS) abort();
  if (fd >= 0) {
    struct stat found;
    fstat(fd, &found);
    handles[fd] = ++last_handle;
    files[fd].device = found.st_dev;
    files[fd].inode = found.st_ino;
    int64_t bits = (S_ISDIR(found.st_mode) ? IS_FOLDER : 0) | (flags & O_TRUNC ? IS_EMPTIED : 0);
    record(OPENED, handles[fd], bits, named, strlen(named));
  }
  pthread_mutex_unlock(&turn);
  return fd;
}

static mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return opened(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return opened(at, path, flags, mode);
}

int creat(const char *path, mode_t mode) {
  return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int close(int fd) {
  if (handle_of(fd) == 0) return syscall(SYS_close, fd);
  pthread_mutex_lock(&turn);
  record(CLOSED, handles[fd], 0, NULL, 0);
  handles[fd] = 0;
  int result = syscall(SYS_close, fd);
  pthread_mutex_unlock(&turn);
  return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  if (handle_of(fd) == 0) return syscall(SYS_pwrite64, fd, bytes, count, offset);
  pthread_mutex_lock(&turn);
  ssize_t written = syscall(SYS_pwrite64, fd, bytes, count, offset);
  if (written > 0) record(WRITTEN, handles[fd], offset, bytes, written);
  pthread_mutex_unlock(&turn);
  return written;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  if (handle_of(fd) == 0) return syscall(SYS_write, fd, bytes, count);
  pthread_mutex_lock(&turn);
  ssize_t written = syscall(SYS_write, fd, bytes, count);
  if (written > 0) {
    off_t end = syscall(SYS_lseek, fd, 0, SEEK_CUR);
    record(WRITTEN, handles[fd], end - written, bytes, written);
  }
  pthread_mutex_unlock(&turn);
  return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (handle_of(fd) != 0) unseen("writev");
  return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  if (handle_of(fd) != 0) unseen("pwritev");
  return syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

int ftruncate(int fd, off_t length) {
  if (handle_of(fd) == 0) return syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&turn);
  int result = syscall(SYS_ftruncate, fd, length);
  if (result == 0) record(TRUNCATED, handles[fd], length, NULL, 0);
  pthread_mutex_unlock(&turn);
  return result;
}

int truncate(const char *path, off_t length) {
  char whole[PATH_MAX];
  if (path_of(AT_FDCWD, path, whole) != NULL) unseen("truncate");
  return syscall(SYS_truncate, path, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (handle_of(fd) != 0) unseen("fallocate");
  return syscall(SYS_fallocate, fd, mode, offset, length);
}

int posix_fallocate(int fd, off_t offset, off_t length) {
  return fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
}

static int synced(long number, int fd) {
  uint32_t handle = handle_of(fd);
  if (handle == 0) return syscall(number, fd);
  record(SYNC_BEGUN, handle, 0, NULL, 0);
  if (sync_us > 0) usleep(sync_us);
  int result = syscall(number, fd);
  if (result == 0) record(SYNC_ENDED, handle, 0, NULL, 0);
  return result;
}

int fsync(int fd) { return synced(SYS_fsync, fd); }

int fdatasync(int fd) { return synced(SYS_fdatasync, fd); }

int unlinkat(int at, const char *path, int flags) {
  char whole[PATH_MAX];
  const char *named = path_of(at, path, whole);
  if (named == NULL) return syscall(SYS_unlinkat, at, path, flags);
  pthread_mutex_lock(&turn);
  int result = syscall(SYS_unlinkat, at, path, flags);
  if (result == 0) record(UNLINKED, 0, 0, named, strlen(named));
  pthread_mutex_unlock(&turn);
  return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

static int renamed(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
  char whole_from[PATH_MAX], whole_to[PATH_MAX];
  const char *named_from = path_of(from_at, from, whole_from);
  const char *named_to = path_of(to_at, to, whole_to);
  if (named_from == NULL && named_to == NULL)
    return syscall(SYS_renameat2, from_at, from, to_at, to, flags);
  if (named_from == NULL || named_to == NULL) unseen("rename into or out of the folder");
  pthread_mutex_lock(&turn);
  int result = syscall(SYS_renameat2, from_at, from, to_at, to, flags);
  if (result == 0 && named_from != NULL && named_to != NULL) {
    char both[2 * PATH_MAX];
    size_t length = strlen(named_from) + 1;
    memcpy(both, named_from, length);
    memcpy(both + length, named_to, strlen(named_to));
    record(RENAMED, 0, 0, both, length + strlen(named_to));
  }
  pthread_mutex_unlock(&turn);
  return result;
}

int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }

int renameat(int from_at, const char *from, int to_at, const char *to) {
  return renamed(from_at, from, to_at, to, 0);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
  return renamed(from_at, from, to_at, to, flags);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
  char whole[PATH_MAX];
  if (path_of(to_at, to, whole) != NULL) unseen("link");
  return syscall(SYS_linkat, from_at, from, to_at, to, flags);
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

static int is_shm(int fd) {
  char link[64], path[PATH_MAX];
  char digits[16];
  int count = 0;
  do digits[count++] = '0' + fd % 10; while ((fd /= 10) > 0);
  strcpy(link, "/proc/self/fd/");
  size_t end = strlen(link);
  while (count > 0) link[end++] = digits[--count];
  link[end] = 0;
  long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
  return length > 4 && memcmp(path + length - 4, "-shm", 4) == 0;
}

/* SQLite writes its -shm file through memory. The file is not durable, and images omit it. */
void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  if (handle_of(fd) != 0 && (protection & PROT_WRITE) && (flags & MAP_SHARED) && !is_shm(fd))
    unseen("mmap");
  return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

#define SAME(name, of) __attribute__((alias(#of)))
extern __typeof__(open) open64 SAME(open64, open);
extern __typeof__(openat) openat64 SAME(openat64, openat);
extern __typeof__(creat) creat64 SAME(creat64, creat);
extern __typeof__(pwrite) pwrite64 SAME(pwrite64, pwrite);
extern __typeof__(pwritev) pwritev64 SAME(pwritev64, pwritev);
extern __typeof__(ftruncate) ftruncate64 SAME(ftruncate64, ftruncate);
extern __typeof__(truncate) truncate64 SAME(truncate64, truncate);
extern __typeof__(fallocate) fallocate64 SAME(fallocate64, fallocate);
extern __typeof__(posix_fallocate) posix_fallocate64 SAME(posix_fallocate64, posix_fallocate);
extern __typeof__(mmap) mmap64 SAME(mmap64, mmap);
