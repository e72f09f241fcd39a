/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completions/: the shells' own scripts, with the lists from the option table. Where the command begins, its own
 * completion takes over.
 */
#include "docs.h"

enum docs_value docs_value(const struct option_row *row)
{
    if (row->type == OPTION_ACTION)
        return !option_has_metavar(row) ? DOCS_NONE : option_word(row, 0) ? DOCS_OPTIONAL : DOCS_REQUIRED;
    if ((row->type == OPTION_BOOL && !option_has_metavar(row)) || row->type == OPTION_COUNT)
        return DOCS_NONE;
    return option_bare(row) ? DOCS_OPTIONAL : DOCS_REQUIRED;
}

const char *docs_negation(const struct option_row *row)
{
    return option_is_on(row) ? "no-" : "";
}

enum docs_words docs_words(const struct option_row *row)
{
    if (option_word(row, 0))
        return DOCS_WORDS_CHOICE;
    if (!option_has_metavar(row))
        return DOCS_WORDS_ANY;
    if (strncmp(option_metavar(row), "FILE", 4) == 0)
        return DOCS_WORDS_FILE;
    if (strcmp(option_metavar(row), "DIR") == 0)
        return DOCS_WORDS_DIR;
    return strcmp(option_metavar(row), "PID") == 0 ? DOCS_WORDS_PID : DOCS_WORDS_ANY;
}

void docs_put_choices(struct buf *buf, const struct option_row *row)
{
    for (size_t i = 0; option_word(row, i); i++)
        buf_printf(buf, "%s%s", i > 0 ? " " : "", option_word(row, i));
}

void docs_put_replaced(struct buf *buf, const char *text, char mark, const char *instead)
{
    for (; *text; text++) {
        if (*text == mark)
            buf_puts(buf, instead);
        else
            buf_putc(buf, *text);
    }
}

/* Calls write for every row with a flag that passes the test. */
static void each(struct buf *buf, bool (*fits)(const struct option_row *row),
    void (*write)(struct buf *buf, const struct option_row *row))
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (option_flag(&options[i])[0] && fits(&options[i]))
            write(buf, &options[i]);
    }
}

static bool is_any(const struct option_row *row)
{
    return option_flag(row)[0] != '\0';
}

static bool needs_value(const struct option_row *row)
{
    return docs_value(row) == DOCS_REQUIRED;
}

static bool needs_value_after_letter(const struct option_row *row)
{
    return needs_value(row) && row->letter;
}

static bool has_words(const struct option_row *row)
{
    return docs_value(row) != DOCS_NONE && docs_words(row) != DOCS_WORDS_ANY;
}

static void put_letter(struct buf *buf, const struct option_row *row)
{
    buf_putc(buf, row->letter);
}

static void put_names(struct buf *buf, const struct option_row *row)
{
    if (row->letter)
        buf_printf(buf, " -%c", row->letter);
    buf_printf(buf, " --%s%s", docs_negation(row), option_flag(row));
}

/* What the option does, with every byte of `marks` escaped by a backslash and ' as the shell wants it. */
static void put_help(struct buf *buf, const struct option_row *row, const char *marks, const char *quote)
{
    buf_puts(buf, docs_negation(row)[0] ? "do not " : "");
    for (const char *p = option_help(row)->help; *p; p++) {
        if (*p == '\'')
            buf_puts(buf, quote);
        else
            buf_printf(buf, "%s%c", strchr(marks, *p) ? "\\" : "", *p);
    }
}

static void put_bash_words(struct buf *buf, const struct option_row *row)
{
    buf_puts(buf, "    ");
    if (row->letter)
        buf_printf(buf, "-%c | ", row->letter);
    buf_printf(buf, "--%s) ", option_flag(row));
    switch (docs_words(row)) {
    case DOCS_WORDS_CHOICE:
        buf_puts(buf, "_resource_tracker_offer '");
        docs_put_choices(buf, row);
        buf_puts(buf, "'");
        break;
    case DOCS_WORDS_PID:
        buf_puts(buf, "_resource_tracker_offer \"$(cd /proc && echo [0-9]*)\"");
        break;
    case DOCS_WORDS_DIR:
        buf_puts(buf, "compopt -o dirnames");
        break;
    case DOCS_WORDS_FILE:
    case DOCS_WORDS_ANY:
        buf_puts(buf, "compopt -o default");
        break;
    }
    buf_puts(buf, " ;;\n");
}

static const char bash_head[] =
    "# bash completion for resource-tracker. Made from its option table by `make docs`; do not edit.\n"
    "# With the bash-completion package or without it.\n"
    "\n"
    "# The words up to the cursor, joined again where bash cuts them at = and :. For each, its place in COMP_WORDS "
    "and\n"
    "# in COMP_LINE.\n"
    "_resource_tracker_split()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} i word gap\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        gap=${line%%[![:space:]]*}\n"
    "        line=${line#\"$gap\"}\n"
    "        word=${COMP_WORDS[i]}\n"
    "        ((i < COMP_CWORD)) || word=$line\n"
    "        if ((i > 0)) && [[ -z $gap && ($word == [=:]* || ${words[-1]} == *[=:]) ]]; then\n"
    "            words[-1]+=$word\n"
    "        else\n"
    "            words+=(\"$word\")\n"
    "            places+=(\"$i\")\n"
    "            offsets+=(\"$((COMP_POINT - ${#line}))\")\n"
    "        fi\n"
    "        line=${line#\"$word\"}\n"
    "    done\n"
    "}\n"
    "\n"
    "# Offers the words of $1 that begin with what was typed.\n"
    "_resource_tracker_offer()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "# Completes the command that begins at word $1, as if it stood alone.\n"
    "_resource_tracker_command()\n"
    "{\n"
    "    local place=${places[$1]} offset=${offsets[$1]} name spec\n"
    "    for name in _comp_command_offset _command_offset; do\n"
    "        if declare -F \"$name\" >/dev/null; then\n"
    "            \"$name\" \"$place\"\n"
    "            return\n"
    "        fi\n"
    "    done\n"
    "    if (($1 == ${#words[@]} - 1)); then\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -c -- \"$cur\" | sort -u)\n"
    "        return\n"
    "    fi\n"
    "    spec=$(complete -p -- \"${words[$1]}\" 2>/dev/null)\n"
    "    if [[ $spec != *' -F '* ]]; then\n"
    "        compopt -o default\n"
    "        return\n"
    "    fi\n"
    "    name=${spec##* -F }\n"
    "    local -a rest=(\"${COMP_WORDS[@]:place}\")\n"
    "    local -a COMP_WORDS=(\"${rest[@]}\")\n"
    "    local line=${COMP_LINE:offset} at=$((COMP_POINT - offset)) word=$((COMP_CWORD - place))\n"
    "    local COMP_LINE=$line COMP_POINT=$at COMP_CWORD=$word\n"
    "    \"${name%% *}\" \"${rest[0]}\" \"${rest[word]}\" \"${rest[word - 1]}\"\n"
    "}\n"
    "\n"
    "# Is the value of this option the next word?\n"
    "_resource_tracker_needs_value()\n"
    "{\n"
    "    [[ '";

static const char bash_middle[] = "\n"
                                  "_resource_tracker()\n"
                                  "{\n"
                                  "    local -a words=() places=() offsets=()\n"
                                  "    local i=1 last cur prefix='' flag=''\n"
                                  "    COMPREPLY=()\n"
                                  "    _resource_tracker_split\n"
                                  "    last=$((${#words[@]} - 1))\n"
                                  "    cur=${words[last]}\n"
                                  "    while ((i < last)); do\n"
                                  "        case ${words[i]} in\n"
                                  "        --)\n"
                                  "            _resource_tracker_command $((i + 1))\n"
                                  "            return\n"
                                  "            ;;\n"
                                  "        -?*) ;;\n"
                                  "        *)\n"
                                  "            _resource_tracker_command \"$i\"\n"
                                  "            return\n"
                                  "            ;;\n"
                                  "        esac\n"
                                  "        ! _resource_tracker_needs_value \"${words[i]}\" || i=$((i + 1))\n"
                                  "        i=$((i + 1))\n"
                                  "    done\n"
                                  "    if ((i > last)); then\n"
                                  "        flag=${words[last - 1]}\n"
                                  "        [[ $flag == --* ]] || flag=-${flag: -1}\n"
                                  "    elif [[ $cur == --*=* ]]; then\n"
                                  "        flag=${cur%%=*}\n"
                                  "        cur=${cur#*=}\n"
                                  "        [[ $COMP_WORDBREAKS == *=* ]] || prefix=$flag=\n"
                                  "    elif [[ $cur != -* ]]; then\n"
                                  "        _resource_tracker_command \"$last\"\n"
                                  "        return\n"
                                  "    fi\n"
                                  "    case $flag in\n";

void docs_completion_bash(struct buf *buf)
{
    buf_puts(buf, bash_head);
    each(buf, needs_value, put_names);
    buf_puts(buf, " ' == *\" $1 \"* || $1 =~ ^-[^");
    each(buf, needs_value_after_letter, put_letter);
    buf_puts(buf, "-]*[");
    each(buf, needs_value_after_letter, put_letter);
    buf_puts(buf, "]$ ]]\n}\n");
    buf_puts(buf, bash_middle);
    each(buf, has_words, put_bash_words);
    buf_puts(buf, "    '') _resource_tracker_offer '");
    each(buf, is_any, put_names);
    buf_puts(buf, "' ;;\n    esac\n}\n\ncomplete -F _resource_tracker resource-tracker\n");
}

static void put_zsh_words(struct buf *buf, const struct option_row *row)
{
    buf_printf(buf, "%s%s:", docs_value(row) == DOCS_OPTIONAL ? "::" : ":", option_metavar(row));
    switch (docs_words(row)) {
    case DOCS_WORDS_CHOICE:
        buf_putc(buf, '(');
        docs_put_choices(buf, row);
        buf_putc(buf, ')');
        break;
    case DOCS_WORDS_PID:
        buf_puts(buf, "_pids");
        break;
    case DOCS_WORDS_FILE:
        buf_puts(buf, "_files");
        break;
    case DOCS_WORDS_DIR:
        buf_puts(buf, "_files -/");
        break;
    case DOCS_WORDS_ANY:
        buf_putc(buf, ' ');
        break;
    }
}

/* '*'{-f+,--format=}'[help]:json|csv:(json csv)' */
static void put_zsh(struct buf *buf, const struct option_row *row)
{
    static const char *const ends[] = {[DOCS_NONE] = "", [DOCS_OPTIONAL] = "=-", [DOCS_REQUIRED] = "="};
    enum docs_value value = docs_value(row);
    buf_puts(buf, "    '*'");
    if (row->letter)
        buf_printf(buf, "{-%c%s,", row->letter, value == DOCS_REQUIRED ? "+" : option_bare(row) ? "-" : "");
    buf_printf(buf, "--%s%s%s%s'[", docs_negation(row), option_flag(row), ends[value], row->letter ? "}" : "");
    put_help(buf, row, "[]", "'\\''");
    buf_putc(buf, ']');
    if (value != DOCS_NONE)
        put_zsh_words(buf, row);
    buf_puts(buf, "' \\\n");
}

void docs_completion_zsh(struct buf *buf)
{
    buf_puts(buf, "#compdef resource-tracker\n"
                  "# zsh completion for resource-tracker. Made from its option table by `make docs`; do not edit.\n"
                  "\n"
                  "_arguments -s -S : \\\n");
    each(buf, is_any, put_zsh);
    buf_puts(buf, "    '(-)1:command: _command_names -e' \\\n"
                  "    '*::arguments: _normal'\n");
}

static const char fish_head[] =
    "# fish completion for resource-tracker. Made from its option table by `make docs`; do not edit.\n"
    "\n"
    "# The command on the line and its arguments so far, without the word at the cursor; fails where options go on.\n"
    "function __resource_tracker_command\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    while set -q words[1]\n"
    "        if not string match -qr -- '^-.' $words[1]\n"
    "            string escape -- $words\n"
    "            return 0\n"
    "        end\n"
    "        set -l word $words[1]\n"
    "        set -e words[1]\n"
    "        if test \"$word\" = --\n"
    "            string escape -- $words\n"
    "            return 0\n"
    "        end\n"
    "        if contains -- $word $__resource_tracker_needs_value\n"
    "            or string match -qr -- \"$__resource_tracker_needs_value_short\" $word\n"
    "            set -e words[1]\n"
    "        end\n"
    "    end\n"
    "    return 1\n"
    "end\n"
    "\n"
    "function __resource_tracker_has_command\n"
    "    __resource_tracker_command >/dev/null\n"
    "end\n"
    "\n"
    "function __resource_tracker_complete_command\n"
    "    set -l words (__resource_tracker_command)\n"
    "    complete \"--do-complete=\"(string join ' ' -- $words (commandline -ct))\n"
    "end\n"
    "\n";

static void put_fish(struct buf *buf, const struct option_row *row)
{
    buf_puts(buf, "complete -c resource-tracker -n 'not __resource_tracker_has_command'");
    if (row->letter)
        buf_printf(buf, " -s %c", row->letter);
    buf_printf(buf, " -l %s%s", docs_negation(row), option_flag(row));
    bool is_file = docs_words(row) == DOCS_WORDS_FILE;
    if (needs_value(row))
        buf_puts(buf, is_file ? " -r -F" : " -x");
    if (docs_words(row) == DOCS_WORDS_CHOICE) {
        buf_puts(buf, " -a '");
        docs_put_choices(buf, row);
        buf_putc(buf, '\'');
    } else if (docs_words(row) == DOCS_WORDS_PID) {
        buf_puts(buf, " -a '(__fish_complete_pids)'");
    } else if (docs_words(row) == DOCS_WORDS_DIR) {
        buf_puts(buf, " -a '(__fish_complete_directories)'");
    }
    buf_puts(buf, " -d '");
    put_help(buf, row, "\\", "\\'");
    buf_puts(buf, "'\n");
}

void docs_completion_fish(struct buf *buf)
{
    buf_puts(buf, fish_head);
    buf_puts(buf, "set -g __resource_tracker_needs_value");
    each(buf, needs_value, put_names);
    buf_puts(buf, "\nset -g __resource_tracker_needs_value_short '^-[^");
    each(buf, needs_value_after_letter, put_letter);
    buf_puts(buf, "-]*[");
    each(buf, needs_value_after_letter, put_letter);
    buf_puts(buf, "]$'\n\n");
    each(buf, is_any, put_fish);
    buf_puts(buf, "complete -c resource-tracker -x -a '(__resource_tracker_complete_command)'\n");
}
