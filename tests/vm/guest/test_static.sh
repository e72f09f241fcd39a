#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The static program in a root that holds nothing but busybox, itself and /proc: no C library, no /sys, no /dev.
# shellcheck shell=dash

program=/rt/resource-tracker
number=0

# $1: the name of the test; then the command that must hold
check() {
    name=$1
    shift
    number=$((number + 1))
    if "$@" >/said 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' /said
    fi
}

# $1: the exit status that the rest must have
ends_with() {
    want=$1
    shift
    "$@"
    got=$?
    [ "$got" -eq "$want" ] || {
        echo "exit status $got, want $want"
        return 1
    }
}

# The sum of a number over all samples of /run.jsonl
sum_of() { grep -o "\"$1\":[0-9.]*" /run.jsonl | awk -F: '{ sum += $2 } END { printf "%.4f", sum }'; }

is_alone() { [ -z "$(find /usr/lib /usr/lib64 /sys -type f)" ]; }
prints_version() { $program --version | grep -E '^resource-tracker [0-9]+\.[0-9]+\.[0-9]+'; }
shows_doctor() { $program --doctor >/doctor; grep 'host  *kernel  *ok' /doctor || { cat /doctor; false; }; }
passes_stdout() { [ "$($program -q -- /bin/busybox echo hello)" = hello ]; }

tracks() {
    $program -i 0.2 -o /run.jsonl --report /run.html -- /bin/busybox sh -c 'sleep 0.7; exit 0' || return 1
    cat /run.jsonl
    [ "$(wc -l </run.jsonl)" -ge 3 ] && grep -q '"exit_code":0' /run.jsonl &&
        grep -Eq '"memory":\{"total_mib":[1-9]' /run.jsonl && grep -Eq '"process_rss_mib":[0-9.]*[1-9]' /run.jsonl
}

has_report() { tail -c 20 /run.html | grep '</html>' && grep -q 'sleep 0.7' /run.html; }
replays() { $program --from /run.jsonl -f csv -o /run.csv && [ "$(wc -l </run.csv)" -eq $(($(wc -l </run.jsonl) + 1)) ]; }

# What the processes of the workload report lacks their own ends, which take long without KVM.
counts_cpu() {
    rm -f /reported
    WORKLOAD_TRUTH=/reported $program -i 0.1 -o /run.jsonl -- /rt/workload "$@" || return 1
    ours=$(awk -v u="$(sum_of process_utime_secs)" -v s="$(sum_of process_stime_secs)" 'BEGIN { print u + s }')
    awk -v ours="$ours" '{ sum += $1 } END { sum /= 1e6; print ours, "reported", sum
        exit !(ours - sum < 0.15 && sum - ours < 0.02 && sum > 0.2) }' /reported
}

echo 1..14
check 'there is no C library here' is_alone
check 'the program prints its version' prints_version
check 'doctor works' shows_doctor
check 'a command keeps its stdout' passes_stdout
check 'a command is tracked' tracks
check 'there is a report' has_report
check 'a recording is replayed' replays
check 'the exit status is the one of the command' ends_with 7 $program -q -- /bin/busybox sh -c 'exit 7'
check 'a signal is 128 and its number' ends_with 137 $program -q -- /bin/busybox sh -c "kill -9 \$\$"
check 'not found is 127' ends_with 127 $program -q -- /no/such/command
check 'not executable is 126' ends_with 126 $program -q -- /modules
check 'a tree of children is counted' counts_cpu loop 30 20 2
check 'daemons are counted' counts_cpu daemons 3 200 ended
check 'threads that fork are counted' counts_cpu threads 4 60
