/* A C program that loads Belljar as a shared library: dlopen_host LIBRARY KIND [SCRIPT].
 *
 *   run SCRIPT     runs a script and prints what comes of it
 *   interrupted    does that while every thread is interrupted a thousand times a second, by a
 *                  handler without SA_RESTART
 *
 * It prints "main" first, so that a test sees how often main runs. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char out[64 * 1024];
static int (*start)(char *, size_t);
static int (*run)(const char *, uint64_t, char *, size_t);
static int (*shut_down)(void);

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return found;
}

static void check(int code)
{
    if (code) {
        fprintf(stderr, "%s\n", out);
        exit(1);
    }
}

static void handler(int number) { (void)number; }

static atomic_int is_over;

/* Interrupts every other thread of this process, again and again. */
static void *interrupt_all(void *unused)
{
    (void)unused;
    pid_t self = (pid_t)syscall(SYS_gettid);
    while (!is_over) {
        DIR *threads = opendir("/proc/self/task");
        struct dirent *entry;
        while (threads && (entry = readdir(threads))) {
            pid_t thread = atoi(entry->d_name);
            if (thread > 0 && thread != self)
                syscall(SYS_tgkill, getpid(), thread, SIGALRM);
        }
        if (threads)
            closedir(threads);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    printf("main\n");
    fflush(stdout);
    if (argc < 3)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    start = function(library, "belljar_host_start");
    run = function(library, "belljar_host_run");
    shut_down = function(library, "belljar_host_shutdown");

    int times = 1;
    pthread_t interrupter;
    int interrupted = !strcmp(argv[2], "interrupted");
    if (interrupted) {
        struct sigaction action = {.sa_handler = handler};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval each = {.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000};
        setitimer(ITIMER_REAL, &each, NULL);
        if (pthread_create(&interrupter, NULL, interrupt_all, NULL))
            return 2;
        times = 5;
    }
    for (int turn = 0; turn < times; turn++) {
        check(start(out, sizeof out));
        check(run(argc > 3 ? argv[3] : "emit_result(6 * 7)", 60000, out, sizeof out));
        printf("%s", out);
        if (shut_down())
            return 1;
    }
    if (interrupted) {
        is_over = 1;
        pthread_join(interrupter, NULL);
    }
    return 0;
}
