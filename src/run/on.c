/* SPDX-License-Identifier: Apache-2.0 */
#include "run/on.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "run/spawn.h"
#include "summary/condition.h"

#define GUARD_FLAG "--on-guard"

/* A pause may be shorter by this part of it: it is that of samples, which are not to the moment. */
enum { PAUSE_SLACK = 20 };

enum { GUARD_WORDS = 2, WORDS_MAX = 64, TEXT_BYTES_MAX = 4096, SHOWN_BYTES = 120 };

struct on_rule {
    struct condition condition;
    struct str text; /* of the condition */
    const char *command;
    int64_t pause_ns; /* 0: once */
    int64_t started_ns; /* when it was last started */
    int starts;
    struct helper guard;
    int channel_fd; /* open while the command runs; else -1 */
};

/* Copies a word, without its quotes, behind what is there. True where there was one. */
static bool pop_word(const char **at, char **out, pid_t pid, const char *end, bool *ret_is_closed)
{
    static const char place[] = "{pid}";
    char quote = '\0';
    while (ascii_is_blank(**at))
        (*at)++;
    bool is_there = **at != '\0';
    for (; **at && (quote || !ascii_is_blank(**at)); (*at)++) {
        if (quote ? **at == quote : **at == '\'' || **at == '"') {
            quote = quote ? '\0' : **at;
            continue;
        }
        if (**at == '\\' && quote != '\'' && (*at)[1])
            (*at)++;
        else if (strncmp(*at, place, sizeof(place) - 1) == 0) {
            int n = snprintf(*out, (size_t)(end - *out), "%d", (int)pid);
            *out += n > 0 && n < end - *out ? n : 0;
            *at += sizeof(place) - 2;
            continue;
        }
        if (*out < end - 1)
            *(*out)++ = **at;
    }
    *ret_is_closed = quote == '\0';
    if (is_there)
        *(*out)++ = '\0';
    return is_there;
}

int on_split(const char *text, pid_t pid, char ***ret_words)
{
    /* A number is at most twice as long as what it replaces. */
    size_t bytes = 3 * strlen(text) + 2;
    char **words = calloc(1, (WORDS_MAX + 1) * sizeof(*words) + bytes);
    if (!words)
        return -ENOMEM;
    char *out = (char *)(words + WORDS_MAX + 1);
    const char *end = out + bytes;
    size_t count = 0;
    bool is_closed = true, is_there = true;
    while (is_there && is_closed && count < WORDS_MAX) {
        words[count] = out;
        is_there = pop_word(&text, &out, pid, end, &is_closed);
        count += is_there;
    }
    words[count] = NULL;
    if (!is_closed || count == 0 || words[0][0] == '\0' || *text) {
        free(words);
        return -EINVAL;
    }
    *ret_words = words;
    return 0;
}

static bool names_root(const struct on_rule *rule)
{
    return rule->command && strstr(rule->command, "{pid}");
}

/* "CONDITION every 60s": the pause is cut off. */
static int pop_pause(struct str *condition, int64_t *ret_ns, struct err *err)
{
    static const char word[] = " every ";
    const char *at = memmem(condition->p, condition->n, word, sizeof(word) - 1);
    *ret_ns = 0;
    if (!at)
        return 0;
    struct str time = {at + sizeof(word) - 1, condition->n - (size_t)(at - condition->p) - (sizeof(word) - 1)};
    while (time.n > 0 && time.p[time.n - 1] == ' ')
        time.n--;
    condition->n = (size_t)(at - condition->p);
    double secs;
    if (condition_parse_number(time, CONDITION_SECS, &secs, err) < 0 || secs < 1 || secs > 1e9)
        return err_set(err, -EINVAL, "after \"every\" there must be a time of at least 1 s, such as 60s");
    *ret_ns = (int64_t)(secs * 1e9);
    return 0;
}

static int parse_rule(const char *text, struct on_rule *rule, struct err *err)
{
    const char *arrow = strstr(text, "=>");
    if (!arrow)
        return err_set(err, -EINVAL, "there must be \"=>\" between the condition and the command");
    if (strlen(text) > TEXT_BYTES_MAX)
        return err_set(err, -EINVAL, "longer than %d bytes", TEXT_BYTES_MAX);
    *rule = (struct on_rule){
        .text = {text, (size_t)(arrow - text)}, .command = arrow + 2, .guard = HELPER_NONE, .channel_fd = -1};
    int r = pop_pause(&rule->text, &rule->pause_ns, err);
    while (rule->text.n > 0 && rule->text.p[rule->text.n - 1] == ' ')
        rule->text.n--;
    if (r == 0)
        r = condition_parse(rule->text, &rule->condition, err);
    char **words;
    if (r == 0 && (r = on_split(rule->command, 0, &words)) == 0)
        free(words);
    else if (r < 0 && err->code == 0)
        (void)err_set(err, r, "the command is missing, has more than %d words, or a quote is not closed", WORDS_MAX);
    return r;
}

int on_open(struct on_rules *rules, const struct settings *settings, struct err *err)
{
    if (settings->on_count == 0)
        return 0;
    if (settings->on_count > ON_RULES_MAX)
        return err_set(err, -E2BIG, "--on: more than %d rules", ON_RULES_MAX);
    rules->items = calloc(settings->on_count, sizeof(*rules->items));
    if (!rules->items)
        return err_set(err, -ENOMEM, "out of memory");
    rules->environment = settings->environment;
    for (size_t i = 0; i < settings->on_count; i++) {
        int r = parse_rule(settings->on_rules[i], &rules->items[i], err);
        if (r == 0 && names_root(&rules->items[i]) && !settings->command && !settings->attaches)
            r = err_set(err, -EINVAL, "{pid} needs a command or --pid");
        if (r < 0)
            return err_wrap(err, "--on");
        rules->count++;
    }
    return 0;
}

/* Does the command run? */
static bool is_running(struct on_rule *rule)
{
    char unused;
    if (rule->channel_fd >= 0 && recv(rule->channel_fd, &unused, 1, MSG_DONTWAIT) == 0)
        fd_close(&rule->channel_fd);
    return rule->channel_fd >= 0;
}

void on_close(struct on_rules *rules)
{
    enum { ROUNDS = 50, ROUND_MS = 20 };
    const struct timespec pause = {.tv_nsec = ROUND_MS * NS_PER_MS};
    size_t running = rules->count;
    for (int round = 0; round < ROUNDS && running > 0; round++) {
        running = 0;
        for (size_t i = 0; i < rules->count; i++)
            running += is_running(&rules->items[i]);
        if (running > 0)
            (void)nanosleep(&pause, NULL);
    }
    for (size_t i = 0; i < rules->count; i++) {
        fd_close(&rules->items[i].channel_fd);
        helper_release(&rules->items[i].guard);
    }
    free(rules->items);
    *rules = (struct on_rules){0};
}

static void start(struct on_rules *rules, struct on_rule *rule, pid_t root, double left, struct helpers *helpers)
{
    char name[] = "resource-tracker", flag[] = GUARD_FLAG;
    char *argv[GUARD_WORDS + WORDS_MAX + 1] = {name, flag};
    char **words = NULL;
    int r = on_split(rule->command, root, &words);
    if (r == 0)
        memcpy(argv + GUARD_WORDS, words, (WORDS_MAX + 1) * sizeof(*words));
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    text_put(&text, rule->text, TEXT_ESCAPE, SHOWN_BYTES);
    AUTO_BUF struct buf value;
    buf_init(&value, 64);
    condition_put_value(&value, (enum condition_unit)rule->condition.unit, left);
    if (r == 0)
        r = helper_start_with_channel(&rule->guard, helpers,
            (struct helper_request){
                .path = FILE_OWN_PROGRAM, .argv = argv, .environment = rules->environment, .has_stderr = true},
            &rule->channel_fd);
    if (r < 0)
        log_warning("%s (%s), but %s could not be started: %s", buf_cstr(&text), buf_cstr(&value),
            words ? words[0] : "the command", strerror(-r));
    else
        log_warning("%s (%s): starting %s", buf_cstr(&text), buf_cstr(&value), words[0]);
    free(words);
}

void on_sample(
    struct on_rules *rules, const struct accumulator *acc, pid_t root, int64_t now_ns, struct helpers *helpers)
{
    if (rules->count == 0)
        return;
    struct summary summary;
    accumulate_now(acc, &summary);
    for (size_t i = 0; i < rules->count; i++) {
        struct on_rule *rule = &rules->items[i];
        struct opt_f64 left;
        struct opt_i64 status;
        (void)is_running(rule);
        if (rule->guard.pid > 0)
            (void)helper_reap(&rule->guard, helpers, &status);
        bool is_due = rule->starts == 0 || (rule->pause_ns > 0 && now_ns - rule->started_ns >=
                                                                      rule->pause_ns - rule->pause_ns / PAUSE_SLACK);
        /* The number of a process that has ended may be another's. */
        if (!is_due || rule->guard.pid > 0 || rule->starts >= ON_STARTS_MAX || (root == 0 && names_root(rule)))
            continue;
        struct opt_bool holds = condition_holds(&rule->condition, &summary, &left);
        if (!holds.has || !holds.v)
            continue;
        rule->starts++;
        rule->started_ns = now_ns;
        start(rules, rule, root, left.v, helpers);
    }
}

bool on_guard_is_meant(int argc, char **argv)
{
    return argc > GUARD_WORDS && helper_is_meant(argv[1], GUARD_FLAG);
}

static _Noreturn void run_command(char **words)
{
    const char *script_argv[WORDS_MAX + 2];
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)syscall(SYS_setpgid, 0, 0);
    (void)fcntl(HELPER_CHANNEL_FD, F_SETFD, FD_CLOEXEC);
    log_warning("%s could not be started: %s", words[0], strerror(spawn_execute(words, environ, script_argv)));
    _exit(SPAWN_NOT_FOUND);
}

/* With its group, whose number is its own until it is waited for. */
static void end_command(pid_t *command)
{
    (void)kill(-*command, SIGKILL);
    (void)close(HELPER_CHANNEL_FD);
    *command = 0;
}

/* Waits for all that have ended. False where there are no others. */
static bool wait_for_children(pid_t *command)
{
    siginfo_t info = {0};
    int r;
    while ((r = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)) == 0 && info.si_pid != 0) {
        if (info.si_pid == *command)
            end_command(command);
        (void)waitpid(info.si_pid, NULL, 0);
        info.si_pid = 0;
    }
    return r == 0;
}

/* All signals are blocked; the tracker asks for the end of the command by closing the channel. */
int on_guard_main(char **argv)
{
    sigset_t signals;
    (void)sigfillset(&signals);
    (void)syscall(SYS_close_range, HELPER_CHANNEL_FD + 1, ~0U, 0);
    (void)prctl(PR_SET_NAME, "tracker-on", 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* Not ahead of the job, as the tracker may be. */
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, 0);
    pid_t command = fork();
    if (command == 0)
        run_command(argv + GUARD_WORDS);
    (void)syscall(SYS_setpgid, command, command);
    /* What it writes to may be a pipe that something waits for the end of. */
    for (int fd = 0; fd < HELPER_CHANNEL_FD; fd++)
        (void)close(fd);
    struct pollfd events[] = {{.fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN}, {.fd = HELPER_CHANNEL_FD}};
    int left_ms = ON_SECS_MAX * 1000;
    int64_t end_ns = clock_now() + left_ms * NS_PER_MS;
    while (wait_for_children(&command)) {
        struct signalfd_siginfo unused;
        if (command == 0)
            left_ms = events[1].fd = -1;
        int r = poll(events, 2, left_ms);
        if (events[0].revents)
            (void)!read(events[0].fd, &unused, sizeof(unused));
        left_ms = (int)((end_ns - clock_now()) / NS_PER_MS);
        if (command > 0 && (r == 0 || left_ms <= 0 || events[1].revents))
            end_command(&command);
    }
    return EXIT_SUCCESS;
}
