/* SPDX-License-Identifier: MIT
 *
 * Preloaded into redlock, this library refuses one system call or allocation of it: the one whose
 * number is $REFUSE_AT, counted over all its processes. tests/faults/README.md says how to use it.
 *
 *   REFUSE_STATE   a file of at least sizeof(struct state) zero bytes; counts, and tells what was refused
 *   REFUSE_AT      1, 2, 3…; 0: none, only count
 *   REFUSE_FOR     this many calls in a row are refused (1)
 *   REFUSE_MEMORY  anything: only allocations count
 *   REFUSE_CALL    only calls of this function count
 *   REFUSE_TRACE   a file that gets a backtrace of each refusal
 *
 * It acts in programs called "redlock" only: the job, which inherits the preloading, is left alone.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The driver reads it. */
struct state {
  uint64_t count;
  char refused[56]; /* the first call that was */
};

static struct state *state; /* shared by all processes; null: inactive */
static uint64_t at, until;
static int memory_only;
static const char *only;
static int trace = -1;
static __thread int within; /* our own calls are not counted */
static size_t regained;     /* memory that this process has freed itself, in large blocks */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

#define REAL(name)                                    \
  static __typeof__(&name) real;                      \
  if (!real) {                                        \
    ++within;                                         \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    --within;                                         \
  }

static int refuses(const char *name, int error) {
  if (!state || within || (memory_only && error != ENOMEM) || (only && strcmp(only, name) != 0)) return 0;
  const uint64_t number = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
  if (number < at || number >= until) return 0;
  ++within;
  if (number == at) snprintf(state->refused, sizeof state->refused, "%s (PID %d)", name, getpid());
  if (trace >= 0) {
    void *frames[40];
    dprintf(trace, "-- %s in %d\n", name, getpid());
    backtrace_symbols_fd(frames, backtrace(frames, 40), trace);
  }
  --within;
  errno = error;
  return 1;
}

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("REFUSE_STATE"), *text;
  if (!file || strcmp(program_invocation_short_name, "redlock") != 0) return;
  within = 1;
  const int fd = open(file, O_RDWR | O_CLOEXEC);
  void *memory = fd < 0 ? MAP_FAILED : mmap(0, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    perror("REFUSE_STATE");
    _exit(99);
  }
  close(fd);
  at = (text = getenv("REFUSE_AT")) ? strtoull(text, 0, 10) : 0;
  until = at ? at + ((text = getenv("REFUSE_FOR")) ? strtoull(text, 0, 10) : 1) : 0;
  memory_only = getenv("REFUSE_MEMORY") != NULL;
  only = getenv("REFUSE_CALL");
  if ((text = getenv("REFUSE_TRACE"))) {
    /* Far from the numbers that the program gets. */
    const int opened = open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    trace = fcntl(opened, F_DUPFD_CLOEXEC, 500);
    close(opened);
    void *frames[1];
    backtrace(frames, 1); /* it loads a library the first time */
  }
  state = memory;
}

/* Counted from main() on. Earlier calls are the loader's, and static objects of CLI11's: where there is
 * no memory for those, the program is aborted before it has done anything. */
static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment) {
  within = 0;
  return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
  __typeof__(&__libc_start_main) real =
      (__typeof__(&__libc_start_main))dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return real(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

/* ---- memory ---- */

/* No system refuses memory that it has just got back. */
static int refuses_memory(const char *name, size_t size) {
  if (size > regained) return refuses(name, ENOMEM);
  regained -= size;
  return 0;
}
void free(void *memory) {
  const size_t size = memory ? malloc_usable_size(memory) : 0;
  if (size >= 1 << 20) regained += size;
  __libc_free(memory);
}

void *malloc(size_t size) { return refuses_memory("malloc", size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
  return refuses_memory("calloc", count * size) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  return refuses_memory("realloc", size) ? NULL : __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  return refuses_memory("aligned_alloc", size) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (refuses_memory("posix_memalign", size)) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void *mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset) {
  if (refuses("mmap", ENOMEM)) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, where, size, protection, flags, fd, offset);
}

/* ---- descriptors, processes, bytes ---- */

#define WRAP(type, name, parameters, arguments, error) \
  type name parameters {                               \
    REAL(name)                                         \
    if (refuses(#name, error)) return (type)-1;        \
    return real arguments;                             \
  }

WRAP(int, socket, (int domain, int kind, int protocol), (domain, kind, protocol), EMFILE)
WRAP(int, socketpair, (int domain, int kind, int protocol, int ends[2]), (domain, kind, protocol, ends), EMFILE)
WRAP(int, connect, (int fd, const struct sockaddr *peer, socklen_t size), (fd, peer, size), EADDRNOTAVAIL)
WRAP(int, pipe2, (int ends[2], int flags), (ends, flags), EMFILE)
WRAP(int, timerfd_create, (clockid_t clock, int flags), (clock, flags), EMFILE)
WRAP(int, timerfd_settime, (int fd, int flags, const struct itimerspec *now, struct itimerspec *before),
     (fd, flags, now, before), EINVAL)
WRAP(int, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags), EMFILE)
WRAP(int, eventfd, (unsigned initial, int flags), (initial, flags), EMFILE)
WRAP(int, poll, (struct pollfd *polled, nfds_t count, int timeout), (polled, count, timeout), EINVAL)
WRAP(int, dup2, (int from, int to), (from, to), EMFILE)
WRAP(pid_t, fork, (void), (), EAGAIN)
WRAP(int, getentropy, (void *bytes, size_t size), (bytes, size), ENOSYS)
WRAP(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags), ENOBUFS)
WRAP(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags), EIO)
WRAP(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size), EIO)
WRAP(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size), EIO)

/* What they are with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *polled, nfds_t count, int timeout, size_t size) {
  (void)size;
  return poll(polled, count, timeout);
}
ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags) {
  (void)room;
  return recv(fd, bytes, size, flags);
}
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room) {
  (void)room;
  return read(fd, bytes, size);
}

DIR *opendir(const char *path) {
  REAL(opendir)
  return refuses("opendir", EMFILE) ? NULL : real(path);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*what)(void *), void *of) {
  REAL(pthread_create)
  return refuses("pthread_create", EAGAIN) ? EAGAIN : real(thread, how, what, of);
}

#define OPEN(name, first_parameter, first_argument)               \
  int name(first_parameter const char *path, int flags, ...) {    \
    REAL(name)                                                    \
    va_list rest;                                                 \
    va_start(rest, flags);                                        \
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                 \
    if (refuses(#name, EMFILE)) return -1;                        \
    return real(first_argument path, flags, mode);                \
  }
#define COMMA ,
OPEN(open, , )
OPEN(open64, , )
OPEN(openat, int directory COMMA, directory COMMA)
OPEN(openat64, int directory COMMA, directory COMMA)

/* Only what takes something: a signal is never refused. */
long syscall(long number, ...) {
  REAL(syscall)
  va_list rest;
  va_start(rest, number);
  long word[6];
  for (int i = 0; i < 6; ++i) word[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_pidfd_open && refuses("pidfd_open", EMFILE)) return -1;
  return real(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

/* A function that called vfork() could not return in the child and then in the parent: the real one is
 * jumped to, with the caller's stack. On other processors it is not refused. */
#ifdef __x86_64__
__attribute__((visibility("hidden"), used)) void *refuse_real_vfork(void) {
  REAL(vfork)
  return refuses("vfork", EAGAIN) ? NULL : (void *)real;
}
__asm__(
    ".globl vfork\n"
    ".type vfork, @function\n"
    "vfork:\n"
    "  sub $8, %rsp\n"
    "  call refuse_real_vfork\n"
    "  add $8, %rsp\n"
    "  test %rax, %rax\n"
    "  je 1f\n"
    "  jmp *%rax\n"
    "1: mov $-1, %rax\n"
    "  ret\n"
    ".size vfork, .-vfork\n");
#endif
