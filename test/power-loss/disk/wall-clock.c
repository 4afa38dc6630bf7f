/*
 * Steps the wall clock of a process, like an operator or NTP does. Loaded with LD_PRELOAD.
 * WALL_CLOCK: a file of eight bytes, shared with the test, that contains the offset to the
 * machine's clock in nanoseconds. The monotonic clock is unchanged, because a step does not change
 * it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static volatile int64_t none;
static volatile int64_t *ahead = &none;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("WALL_CLOCK");
  int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void *shared = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) ahead = shared;
  close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  int64_t ns = now->tv_sec * SECOND + now->tv_nsec + *ahead;
  now->tv_sec = ns / SECOND;
  now->tv_nsec = ns % SECOND;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *second) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (second != NULL) *second = exact.tv_sec;
  return exact.tv_sec;
}
