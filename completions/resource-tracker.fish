# fish completion for resource-tracker. Made from its option table by `make docs`; do not edit.

# The command on the line and its arguments so far, without the word at the cursor; fails where options go on.
function __resource_tracker_command
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        if not string match -qr -- '^-.' $words[1]
            string escape -- $words
            return 0
        end
        set -l word $words[1]
        set -e words[1]
        if test "$word" = --
            string escape -- $words
            return 0
        end
        if contains -- $word $__resource_tracker_needs_value
            or string match -qr -- "$__resource_tracker_needs_value_short" $word
            set -e words[1]
        end
    end
    return 1
end

function __resource_tracker_has_command
    __resource_tracker_command >/dev/null
end

function __resource_tracker_complete_command
    set -l words (__resource_tracker_command)
    complete "--do-complete="(string join ' ' -- $words (commandline -ct))
end

set -g __resource_tracker_needs_value -p --pid --attach-cgroup --duration --from -i --interval -f --format --csv-columns -o --output --sysroot --summary-json --summary-markdown --report --metrics-file --snakemake-benchmark --carbon --grace --on --mark --begin --end -n --job-name --project-name --stage-name --task-name --team --env --language --orchestrator --executor --external-run-id --container-image --rank --world-size --node --tag --mask-command --aggregate-cpu-steal --pushgateway -c --config
set -g __resource_tracker_needs_value_short '^-[^pifonc-]*[pifonc]$'

complete -c resource-tracker -n 'not __resource_tracker_has_command' -s p -l pid -x -a '(__fish_complete_pids)' -d 'track this running process and its descendants'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l attach-cgroup -x -d 'track a cgroup until it is empty: a path, unit:NAME or a container ID'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l stop-with-pid -d 'with --pid: exit when the tracked processes have exited'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l duration -x -d 'without a command: stop after this time, for example 90, 30s, 10m, 8h'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l from -r -F -d 'replay recorded samples (JSON lines or CSV, optionally gzip) through the outputs; may be repeated'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l parts -d 'with --from: the recordings are the parts (ranks, nodes) of one run'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s i -l interval -x -d 'time between samples, in seconds or with a unit: 0.25, 250ms, 2s, 1m'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s f -l format -x -a 'json csv' -d 'write one JSON object or one CSV row per sample'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l csv-columns -x -a 'auto system full python' -d 'CSV columns: system (host only), full (host and process), auto (full if a process is tracked) or python (auto, with the column names of the Python package)'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s o -l output -r -F -d 'write samples to FILE (- is stdout; compressed if it ends in .gz); the name may contain {job}, {host}, {node}, {rank}, {pid}, {datetime}'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l append -d 'append to the output file instead of overwriting it'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s q -l quiet -d 'do not write samples'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l live -d 'show current usage at the bottom of the terminal (stderr) instead of samples'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s r -l renice -d 'set the niceness of the tracker itself, never of the command: -20 to 19; 19 if N is omitted'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l sysroot -x -a '(__fish_complete_directories)' -d 'read proc and sys from this directory'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l summary -a 'auto always never' -d 'print a summary at the end: always (if WHEN is omitted), never or auto (if stderr is a terminal and gets no samples)'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l summary-json -r -F -d 'write the summary as JSON'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l summary-markdown -r -F -d 'append the summary as Markdown, for example to $GITHUB_STEP_SUMMARY'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l report -r -F -d 'write a self-contained HTML page with charts, which can save them as PNG; with FILE.svg, a picture instead'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l metrics-file -r -F -d 'replace FILE with the summary as Prometheus metrics, every 15 seconds and at the end: for the textfile collector of node_exporter, or GitLab\'s metrics.txt'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l snakemake-benchmark -r -F -d 'write a benchmark file as Snakemake does (.jsonl: as JSON), with exact values'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l carbon -x -d 'grams of CO2 for a kWh of electricity, for example 320 or 320g/kWh: the summary then has the CO2 of the job\'s energy'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l grace -x -d 'maximum time that streaming may delay the exit'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l cgroup -d 'run the command in its own cgroup if permitted'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l no-subreaper -d 'do not adopt descendants whose parent has exited'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l on -x -d 'start a command when a condition holds, for example \'memory.peak > 0.9 * memory.limit => py-spy dump --pid {pid}\'; may be repeated'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l mark -x -d 'name this moment: a phase begins that ends with the next mark, or with the command'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l begin -x -d 'a phase of this name begins; phases may overlap'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l end -x -d 'the phase of this name ends'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s n -l job-name -x -d 'name of the job'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l project-name -x -d 'project the job belongs to'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l stage-name -x -d 'stage of the pipeline'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l task-name -x -d 'task within the stage'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l team -x -d 'team that owns the job'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l env -x -d 'environment, such as dev or prod'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l language -x -d 'programming language of the job'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l orchestrator -x -d 'system that scheduled it, such as airflow'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l executor -x -d 'system that runs it, such as slurm'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l external-run-id -x -d 'ID of the run in another system'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l container-image -x -d 'container image of the job'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l rank -x -d 'number of this process within the job, from 0'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l world-size -x -d 'number of processes of the job'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l node -x -d 'name or number of the machine within the job'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l tag -x -d 'add a tag; may be repeated; the variable takes a comma-separated list'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l mask-command -x -a 'auto strict off' -d 'mask the recorded command: auto (secrets), strict (also e-mail and IP addresses, phone and card numbers) or off'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l exact-processes -d 'record every process of the tree with its exit status, however short its life (needs Linux 6.6 or CAP_NET_ADMIN)'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l aggregate-cpu-steal -x -d 'report CPU steal time of all CPUs together (true), or in JSON also per CPU (false)'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l otlp -d 'send metrics and a span of the job to OpenTelemetry by OTLP/HTTP: to this address, or with true (and without a value) to that of OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l pushgateway -x -d 'put the metrics of --metrics-file into this Prometheus Pushgateway, once, at the end'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s c -l config -r -F -d 'read settings from this TOML file'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l print-config -d 'print the effective settings as TOML with the origin of each, and exit'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l doctor -a 'online' -d 'check what can be measured on this host, and exit; online: also test the streaming targets'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l upload-spool -d 'deliver what earlier runs left in the spool, and exit'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -l licenses -d 'print the licenses of the bundled libraries, and exit'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s v -l verbose -d 'print more on stderr; -vv prints most'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s h -l help -d 'print this help, and exit; -h prints a short one'
complete -c resource-tracker -n 'not __resource_tracker_has_command' -s V -l version -d 'print the version, and exit; with -v before it, also the bundled libraries'
complete -c resource-tracker -x -a '(__resource_tracker_complete_command)'
