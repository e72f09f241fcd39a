# bash completion for resource-tracker. Made from its option table by `make docs`; do not edit.
# With the bash-completion package or without it.

# The words up to the cursor, joined again where bash cuts them at = and :. For each, its place in COMP_WORDS and
# in COMP_LINE.
_resource_tracker_split()
{
    local line=${COMP_LINE:0:COMP_POINT} i word gap
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${line%%[![:space:]]*}
        line=${line#"$gap"}
        word=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || word=$line
        if ((i > 0)) && [[ -z $gap && ($word == [=:]* || ${words[-1]} == *[=:]) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
            places+=("$i")
            offsets+=("$((COMP_POINT - ${#line}))")
        fi
        line=${line#"$word"}
    done
}

# Offers the words of $1 that begin with what was typed.
_resource_tracker_offer()
{
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$1" -- "$cur")
}

# Completes the command that begins at word $1, as if it stood alone.
_resource_tracker_command()
{
    local place=${places[$1]} offset=${offsets[$1]} name spec
    for name in _comp_command_offset _command_offset; do
        if declare -F "$name" >/dev/null; then
            "$name" "$place"
            return
        fi
    done
    if (($1 == ${#words[@]} - 1)); then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
        return
    fi
    spec=$(complete -p -- "${words[$1]}" 2>/dev/null)
    if [[ $spec != *' -F '* ]]; then
        compopt -o default
        return
    fi
    name=${spec##* -F }
    local -a rest=("${COMP_WORDS[@]:place}")
    local -a COMP_WORDS=("${rest[@]}")
    local line=${COMP_LINE:offset} at=$((COMP_POINT - offset)) word=$((COMP_CWORD - place))
    local COMP_LINE=$line COMP_POINT=$at COMP_CWORD=$word
    "${name%% *}" "${rest[0]}" "${rest[word]}" "${rest[word - 1]}"
}

# Is the value of this option the next word?
_resource_tracker_needs_value()
{
    [[ ' -p --pid --attach-cgroup --duration --from -i --interval -f --format --csv-columns -o --output --sysroot --summary-json --summary-markdown --report --metrics-file --snakemake-benchmark --carbon --grace --on --mark --begin --end -n --job-name --project-name --stage-name --task-name --team --env --language --orchestrator --executor --external-run-id --container-image --rank --world-size --node --tag --mask-command --aggregate-cpu-steal --pushgateway -c --config ' == *" $1 "* || $1 =~ ^-[^pifonc-]*[pifonc]$ ]]
}

_resource_tracker()
{
    local -a words=() places=() offsets=()
    local i=1 last cur prefix='' flag=''
    COMPREPLY=()
    _resource_tracker_split
    last=$((${#words[@]} - 1))
    cur=${words[last]}
    while ((i < last)); do
        case ${words[i]} in
        --)
            _resource_tracker_command $((i + 1))
            return
            ;;
        -?*) ;;
        *)
            _resource_tracker_command "$i"
            return
            ;;
        esac
        ! _resource_tracker_needs_value "${words[i]}" || i=$((i + 1))
        i=$((i + 1))
    done
    if ((i > last)); then
        flag=${words[last - 1]}
        [[ $flag == --* ]] || flag=-${flag: -1}
    elif [[ $cur == --*=* ]]; then
        flag=${cur%%=*}
        cur=${cur#*=}
        [[ $COMP_WORDBREAKS == *=* ]] || prefix=$flag=
    elif [[ $cur != -* ]]; then
        _resource_tracker_command "$last"
        return
    fi
    case $flag in
    -p | --pid) _resource_tracker_offer "$(cd /proc && echo [0-9]*)" ;;
    --from) compopt -o default ;;
    -f | --format) _resource_tracker_offer 'json csv' ;;
    --csv-columns) _resource_tracker_offer 'auto system full python' ;;
    -o | --output) compopt -o default ;;
    --sysroot) compopt -o dirnames ;;
    --summary) _resource_tracker_offer 'auto always never' ;;
    --summary-json) compopt -o default ;;
    --summary-markdown) compopt -o default ;;
    --report) compopt -o default ;;
    --metrics-file) compopt -o default ;;
    --snakemake-benchmark) compopt -o default ;;
    --mask-command) _resource_tracker_offer 'auto strict off' ;;
    -c | --config) compopt -o default ;;
    --doctor) _resource_tracker_offer 'online' ;;
    '') _resource_tracker_offer ' -p --pid --attach-cgroup --stop-with-pid --duration --from --parts -i --interval -f --format --csv-columns -o --output --append -q --quiet --live -r --renice --sysroot --summary --summary-json --summary-markdown --report --metrics-file --snakemake-benchmark --carbon --grace --cgroup --no-subreaper --on --mark --begin --end -n --job-name --project-name --stage-name --task-name --team --env --language --orchestrator --executor --external-run-id --container-image --rank --world-size --node --tag --mask-command --exact-processes --aggregate-cpu-steal --otlp --pushgateway -c --config --print-config --doctor --upload-spool --licenses -v --verbose -h --help -V --version' ;;
    esac
}

complete -F _resource_tracker resource-tracker
