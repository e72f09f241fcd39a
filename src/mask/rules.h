/* SPDX-License-Identifier: Apache-2.0 */
/* All rules of masking that are data; rules.c says which. Lists are words between blanks, in lower case. */
#ifndef MASK_RULES_H
#define MASK_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum name_level {
    NAME_PLAIN, /* says nothing */
    NAME_WEAK, /* a secret where the value looks like one */
    NAME_MILD, /* a secret unless the value is a word, a small number or a path */
    NAME_STRONG, /* a secret */
};

/* Is the word one of the list? Compared without regard to case. */
bool rule_lists(const char *list, struct str word);

/* Does the word end in one of the list? */
bool rule_ends(const char *list, struct str word);

/* Words of names. */
extern const char rule_strong_endings[], rule_strong_words[], rule_mild_words[], rule_weak_words[], rule_header_words[],
    rule_path_words[];
extern const char rule_strong_keys[], rule_plain_keys[], rule_plain_tokens[], rule_token_kinds[], rule_strings[];
extern const char rule_commands[], rule_password_commands[];
extern const char rule_qualifiers[], rule_contents[], rule_switches[], rule_identifiers[];

/* Words of values. */
extern const char rule_trivial_values[], rule_auth_kinds[], rule_auth_schemes[], rule_file_endings[], rule_type_names[];

/* Parts of URLs. */
extern const char rule_user_schemes[], rule_token_schemes[], rule_plain_queries[], rule_secret_queries[],
    rule_public_queries[], rule_opaque_schemes[];
extern const char *const rule_secret_paths[]; /* host/path behind which everything is secret; NULL ends */

/* Words of command lines. */
extern const char rule_carriers[], rule_shells[], rule_shell_hosts[], rule_setters[], rule_setting_verbs[],
    rule_echoes[];
extern const char *const rule_subcommands[]; /* NULL ends */
extern const unsigned rule_login_subcommands; /* bits of those behind which a token may stand alone */
extern const char *const rule_password_readers[]; /* in a pipeline; NULL ends */

/* Tokens that are known by how they begin. */
enum shape_set { SET_ALNUM, SET_UPPER_DIGIT, SET_HEX, SET_WORD /* letters digits _ - */, SET_DOTTED /* and . */ };
struct shape_rule {
    const char *prefix;
    enum shape_set set;
    unsigned char least; /* characters behind the prefix */
    unsigned char most; /* 0: any number */
    bool needs_mix; /* a digit, or letters of both cases */
};
extern const struct shape_rule rule_shapes[];
extern const size_t rule_shape_count;

/* Options and positions that hold secrets in certain programs only. */
enum program_form {
    FORM_NEXT = 1, /* -p SECRET */
    FORM_GLUED = 2, /* -pSECRET */
    FORM_CLUSTER = 4, /* -sp SECRET */
    FORM_SPLIT = 8, /* USER:SECRET, behind the separator */
    FORM_LITERAL = 16, /* NAME=SECRET */
    FORM_POSITION = 32, /* the value is argument number `position` */
    FORM_BEHIND_URL = 64, /* every argument behind a URL */
    FORM_ORACLE = 128, /* USER/SECRET@DATABASE */
    FORM_PREFIX = 256, /* the option is the whole beginning: /p:SECRET */
    FORM_BARE = 512, /* the option has no dash: password SECRET */
};
struct program_rule {
    const char *programs; /* " * ": any */
    const char *subcommand; /* that must have been seen; NULL: none */
    const char *option;
    unsigned form;
    char separator;
    unsigned char position;
    const char *flags; /* FORM_CLUSTER: letters that take no value, so that the option may follow them */
    const char *with, *without; /* letters of options that must, and must not, have been seen */
};
extern const struct program_rule rule_programs[];
extern const size_t rule_program_count;

#endif
