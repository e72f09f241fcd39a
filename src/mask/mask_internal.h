/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How masking works inside: every rule marks bytes of one argument, and in the end each marked run becomes one
 * placeholder. So rules need not know of each other, and their order does not matter. Rules that are data are in
 * rules.c: lists are words between blanks, in lower case.
 */
#ifndef MASK_MASK_INTERNAL_H
#define MASK_MASK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"
#include "mask/mask.h"

enum name_level {
    NAME_PLAIN, /* says nothing */
    NAME_WEAK, /* a secret where the value looks like one */
    NAME_MILD, /* a secret unless the value is a word, a small number or a path */
    NAME_STRONG, /* a secret */
};

/* Is the word one of the list? Compared without regard to case. */
bool rule_lists(const char *list, struct str word);

/* Does the word begin with, or end in, one of the list? */
bool rule_begins(const char *list, struct str word);
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
extern const char rule_secret_paths[]; /* host/path behind which everything is secret; texts */

/* Words of command lines. */
extern const char rule_carriers[], rule_shells[], rule_interpreters[], rule_shell_hosts[], rule_setters[],
    rule_setting_verbs[], rule_echoes[];
extern const char rule_subcommands[]; /* texts, one per bit of enum subcommand */
enum subcommand {
    SUBCOMMAND_LOGIN = 1 << 0,
    SUBCOMMAND_SECRET = 1 << 1,
    SUBCOMMAND_SECRETS = 1 << 2,
    SUBCOMMAND_ALIAS = 1 << 3,
    SUBCOMMAND_HOST = 1 << 4,
    SUBCOMMAND_CONNECT = 1 << 5,
    SUBCOMMAND_AUTH = 1 << 6,
    SUBCOMMAND_PUT_PARAMETER = 1 << 7,
    SUBCOMMAND_ADD_USER = 1 << 8,
    SUBCOMMAND_CHANGE_PASSWORD = 1 << 9,
    SUBCOMMAND_ENCRYPT_STRING = 1 << 10,
};
extern const char rule_password_readers[]; /* in a pipeline; texts */

/* Texts stand one behind the other, each with a NUL; an empty one ends them. The one behind this: */
static inline const char *rule_next(const char *text)
{
    return text + strlen(text) + 1;
}

/* Tokens that are known by how they begin. */
enum shape_set { SET_ALNUM, SET_UPPER_DIGIT, SET_HEX, SET_WORD /* letters digits _ - */, SET_DOTTED /* and . */ };
struct shape_rule {
    unsigned char set; /* enum shape_set */
    unsigned char least; /* characters behind the prefix */
    unsigned char most; /* 0: any number */
    bool needs_mix; /* a digit, or letters of both cases */
};
extern const struct shape_rule rule_shapes[];
extern const char rule_prefixes[]; /* a text of words per shape */

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
/* Texts of the rows below, by number: an address is larger than most of them. */
#define RULE_TEXTS(X)                                                                                                  \
    X(ANY, " * ")                                                                                                      \
    X(MYSQL, " mysql mariadb mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlslap mysqlbinlog "             \
             "mysqlpump mysqlsh mariadb-dump mariadb-admin mariadb-import mariadb-check mariadb-show "                 \
             "mysql_upgrade mycli xtrabackup mariabackup ")                                                            \
    X(MYCLI, " mycli pgcli ")                                                                                          \
    X(SSHPASS, " sshpass ")                                                                                            \
    X(LOGINS, " docker podman nerdctl buildah skopeo helm oras az oc cf crane regctl ibmcloud vault argocd "           \
              "tsh rancher flyctl fly railway vercel supabase npm heroku oc kubectl bw lpass ")                        \
    X(VAULT, " vault ")                                                                                                \
    X(CURL, " curl ")                                                                                                  \
    X(CURL_WGET, " curl wget ")                                                                                        \
    X(HTTP, " http https xh xhs httpie ")                                                                              \
    X(AB, " ab siege hey wrk oha ")                                                                                    \
    X(HEY, " hey ")                                                                                                    \
    X(LFTP, " lftp ")                                                                                                  \
    X(SMBCLIENT, " smbclient smbget rpcclient net smbmap winexe pdbedit smbcacls nmblookup ")                          \
    X(SMBCLIENT_SMBGET, " smbclient smbget rpcclient net ")                                                            \
    X(REDIS_CLI, " redis-cli valkey-cli keydb-cli ")                                                                   \
    X(MONGO, " mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop bsondump "              \
             "beeline rdesktop useradd usermod groupmod ncftp ncftpput ncftpget ")                                     \
    X(SQLCMD, " sqlcmd bcp osql mosquitto_pub mosquitto_sub mosquitto_rr ipmitool zip unzip zipcloak tsql "            \
              "freebcp ")                                                                                              \
    X(SEVEN_ZIP, " 7z 7za 7zr 7zz rar unrar ")                                                                         \
    X(RAR, " rar unrar ")                                                                                              \
    X(LDAP, " ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldapcompare ldappasswd ldapmodrdn "                  \
            "ldapvi ")                                                                                                 \
    X(OPENSSL, " openssl ")                                                                                            \
    X(SNMPWALK, " snmpwalk snmpget snmpset snmpbulkwalk snmpbulkget snmptrap snmptable snmpstatus ")                   \
    X(XFREERDP, " xfreerdp xfreerdp3 wlfreerdp sdl-freerdp freerdp ")                                                  \
    X(NCRACK, " ncrack hydra medusa crackmapexec netexec nxc evil-winrm ")                                             \
    X(CQLSH, " cqlsh influx twine devpi crackmap ")                                                                    \
    X(DOCTL, " doctl codecov ")                                                                                        \
    X(AWS, " aws ")                                                                                                    \
    X(RABBITMQCTL, " rabbitmqctl ")                                                                                    \
    X(NGROK, " ngrok ")                                                                                                \
    X(VNCVIEWER, " vncviewer x11vnc ")                                                                                 \
    X(NMCLI, " nmcli ")                                                                                                \
    X(MACHINE, " machine ")                                                                                            \
    X(MYSQLADMIN, " mysqladmin mariadb-admin ")                                                                        \
    X(ETCDCTL, " etcdctl ")                                                                                            \
    X(ANSIBLE_VAULT, " ansible-vault ")                                                                                \
    X(WPA_PASSPHRASE, " wpa_passphrase ")                                                                              \
    X(HTPASSWD, " htpasswd ")                                                                                          \
    X(MC, " mc mcli ")                                                                                                 \
    X(ORACLE, " sqlplus sqlldr exp imp expdp impdp rman tnsping sqlcl sql ")                                           \
    X(MYSQL_FLAGS, "sNBtvfqrAHEXCnGb")                                                                                 \
    X(CURL_FLAGS, "0123468afgijklnpqsvBGIJLMNORSVZ#")                                                                  \
    X(LDAP_FLAGS, "xvnLZACcIQMN")                                                                                      \
    X(HTPASSWD_B, "b")                                                                                                 \
    X(HTPASSWD_BN, "bn")
#define RULE_TEXT_NUMBER(name, text) PROGRAMS_##name,
enum program_text { PROGRAMS_NONE, RULE_TEXTS(RULE_TEXT_NUMBER) };

struct program_rule {
    unsigned char programs; /* names, each with a space at both ends; " * ": any */
    unsigned char flags; /* FORM_CLUSTER: letters that take no value, so that the option may follow them;
                            FORM_POSITION: letters of options that must have been seen */
    char without; /* FORM_POSITION: the letter of an option that must not have been seen */
    char separator;
    unsigned char position;
    unsigned short subcommand; /* enum subcommand, that must have been seen; 0: none */
    unsigned short form;
};
extern const struct program_rule rule_programs[];
extern const char rule_options[]; /* of each rule; "": none */

/* Does any rule name it? */
bool rule_knows_program(struct str name);

/* The text of that number. */
const char *rule_text(unsigned char number);
extern const size_t rule_program_count;

enum mark { MARK_NONE, MARK_SECRET, MARK_KEY, MARK_EMAIL, MARK_IP, MARK_PHONE, MARK_CARD, MARK_SSN, MARK_COUNT };

/* One argument; every piece of text below is a part of it. */
struct element {
    struct str text;
    unsigned char *marks; /* one per byte, enum mark */
    enum mask_mode mode;
    bool is_shell; /* a command string: $NAME is no secret */
};

extern const char mark_placeholders[MARK_COUNT][9];

/* values.c: what a text looks like. */
bool is_white(char c);
bool is_quote(char c);
bool is_scheme_char(char c); /* of Bearer, AWS4-HMAC-SHA256 */
bool is_name_char(char c); /* of NAME in NAME=value, --name: letters, digits, _ - . */
bool is_alnum_or(char c, const char *others);
bool has_prefix_nocase(struct str text, const char *prefix); /* prefix in lower case */
struct str str_from(struct str text, size_t at);
bool str_has(struct str text, char c);

/* Where the next one is; text.n: nowhere. */
size_t find_char(struct str text, size_t from, char c);
size_t find_text(struct str text, size_t from, const char *part);
bool has_text(struct str text, const char *part);

bool has_white(struct str text);
struct str unquote(struct str text); /* without the quotes around all of it */

/* Where the characters of a kind that begin at `at` end. */
size_t skip_all(struct str text, size_t at, bool (*is_member)(char c));
bool is_all(struct str text, bool (*is_member)(char c)); /* and not empty */

void mark(struct element *element, struct str piece, enum mark kind);
bool is_marked(const struct element *element, struct str piece); /* any byte of it */

/* Bytes of the placeholder at the start of text; 0: none. */
size_t placeholder_length(struct str text);

/* Nothing to hide: empty, yes and no, "-", "...", stars, placeholders. */
bool value_is_trivial(struct str value);
bool value_is_path(struct str value);
bool value_is_reference(struct str value); /* $NAME, ${NAME}, $(...) */
bool is_reference(const struct element *element, struct str value); /* the same, where there is a shell */
bool value_is_version(struct str value); /* also dates and plain numbers */
bool value_is_word(struct str value); /* letters, - and _ alone */

/* Letters and digits mixed as no name or number has them; hexadecimal counts. For values whose name suggests a secret.
 */
bool value_is_tokenish(struct str value);
/* The same for text that nothing else speaks for: no hashes, UUIDs, names of models or files. */
bool value_is_random(struct str value);
bool value_is_random_base64(struct str value); /* with / and + */

/* What a name says about its value. */
struct name_class {
    enum name_level level;
    bool is_switch; /* --no-password, --use-token: a separate word behind it is none of its business */
    bool keeps_path; /* a path is where the secret is, not the secret */
    bool is_header; /* the value has several words */
    bool is_secret; /* the name is "secret" itself */
    bool is_token, is_pass; /* small numbers are no secrets */
    bool is_command; /* a command that prints the secret */
};
extern const struct name_class name_strong;
struct name_class name_classify(struct str name);

/* Marks the value of such a name where it is a secret; quotes around it stay. True where it is. */
bool mark_value(struct element *element, struct str value, const struct name_class *name);

/* text.c: is the value code, such as getpass(), os.environ["X"], self.key? */
bool value_is_code(struct str text, size_t from, size_t end, struct str name);
/* text.c: where the value that begins at from ends in s/name=value/name=value/; end where it is no such expression. */
size_t cut_substitution(struct str text, size_t name, size_t from, size_t end);
/* text.c: a directory of a partitioned table, /name=value/ */
bool is_partition(struct str text, struct str name, size_t from);

/* words.c: options, values behind them and rules of programs; one state for the whole command line. */
enum { WORDS_DEPTH_MAX = 4 };
enum pending_kind {
    PENDING_NONE,
    PENDING_NAME,
    PENDING_SECRET,
    PENDING_SPLIT,
    PENDING_LITERAL,
    PENDING_COMMAND,
    PENDING_FEED
};
struct words {
    struct element *element;
    int depth;
    bool is_text; /* words of a text that may be code as well as a command */
    struct {
        enum pending_kind kind;
        struct name_class name;
        char separator; /* PENDING_SPLIT */
    } pending; /* what the next word is */
    struct str program; /* the known one that runs; n = 0: none */
    bool has_program, has_carrier;
    unsigned subcommands; /* seen, enum subcommand */
    unsigned long long letters; /* single-letter options seen, by bit from 'A' */
    unsigned positionals;
    bool has_url;
    unsigned setting; /* above 0: a NAME may be followed by its value */
    bool is_behind_option; /* the word before was an option without a value of its own */
    bool feeds; /* what the next text echoes is a secret */
    bool is_fed; /* what this text echoes goes to a program that reads a password */
    bool is_echo;
};
void words_argument(struct words *words, struct element *element);

/* text.c, shapes.c, url.c: what can be seen in the text of one argument alone. */
void mark_assignments(struct element *element);
void mark_bearers(struct element *element);
void mark_pem(struct element *element);
void mark_phrases(struct element *element);
void mark_random(struct element *element);
void mark_shapes(struct element *element);
void mark_urls(struct element *element);
void mark_personal(struct element *element);

#endif
