/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules, in one file. A name counts by its words (api-key, apiKey and API_KEY are the same two), the last of which
 * says what it is: a token is a secret, a token file is a file. Values, URLs, shapes and programs follow.
 */

#include "mask/mask_internal.h"

#include <string.h>

bool rule_lists(const char *list, struct str word)
{
    enum { WORD_MAX = 48 };
    char needle[WORD_MAX + 3] = " ";
    if (word.n == 0 || word.n > WORD_MAX)
        return false;
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == ' ')
            return false;
        needle[1 + i] = ascii_to_lower(word.p[i]);
    }
    needle[1 + word.n] = ' ';
    return strstr(list, needle) != NULL;
}

static bool has_part(const char *list, struct str word, bool is_end)
{
    for (const char *p = list; *p; p++) {
        const char *end = *p == ' ' && p[1] ? strchr(p + 1, ' ') : NULL;
        size_t n = end ? (size_t)(end - p) - 1 : 0;
        if (n > 0 && n <= word.n && has_prefix_nocase(str_from(word, is_end ? word.n - n : 0), p + 1))
            return true;
    }
    return false;
}

bool rule_begins(const char *list, struct str word)
{
    return has_part(list, word, false);
}

bool rule_ends(const char *list, struct str word)
{
    return has_part(list, word, true);
}

/* The last word of a name ends so: PGPASSWORD, authtoken. Plurals count. */
const char rule_strong_endings[] =
    " password passwd passphrase passcode passwort secret token apikey accesskey secretkey "
    "privatekey authkey credential passwords passphrases credentials apikeys pwd ";
/* The last word of a name is exactly so. */
const char rule_strong_words[] =
    " pass pw psk jwt bearer authorization cookie cookies cred creds otp totp mnemonic requirepass masterauth dbpass "
    "userpass "
    "storepass keypass rootpass adminpass sshpass mypass smtppass mailpass ftppass httppass proxypass authpass "
    "ldappass "
    "bindpass vpnpass wifipass rpcpass redispass mqttpass sudopass becomepass trustpass srcstorepass deststorepass "
    "pgpass jsessionid phpsessid connectionstring connstr sas accountkey sharedaccesskey ";
const char rule_mild_words[] = " auth signature sig dsn pin basicauth ";
const char rule_weak_words[] = " session sessionid sid pat key license licence webhook login tokens secrets ";
const char rule_header_words[] = " authorization cookie ";
/* A path behind these names the file that holds the secret. */
const char rule_path_words[] = " key keys credential credentials creds cookie cookies secret secrets token jwt auth "
                               "signature sig accesskey privatekey pwd license licence mnemonic ";

/* WORD key */
const char rule_strong_keys[] =
    " api access secret private encryption encrypt decryption signing master account shared "
    "subscription consumer auth hmac symmetric license licence ";
const char rule_plain_keys[] = " public pub cache sort partition primary foreign row object map idempotency host dict "
                               "translation group routing lookup join index unique column hot order metric label "
                               "feature query value config hash range shard s3 answer message image target "
                               "bucket attention default local recv search list export import delete send refresh ";
/* WORD token, of a vocabulary */
const char rule_plain_tokens[] =
    " pad eos bos unk mask sep cls special stop start end max min num n next new per image "
    "prompt input output first last begin prefix control audio video text fim eot eod "
    "word sub total avg mean target source class cost speech ";
/* WORD tokens: a list of secrets, not a number of pieces of text */
const char rule_token_kinds[] = " api auth access refresh bearer secret bot personal ";
/* WORD string */
const char rule_strings[] = " secret connection conn ";

/* A name that ends so speaks about a secret without holding it. */
const char rule_qualifiers[] =
    " file files path paths dir directory folder name names id ids type types size sizes len length bits count limit "
    "limits max min url uri endpoint host port stdin fd env var variable field column col format algorithm algo alg "
    "method methods mode policy manager provider providers backend class scope scopes ttl expiry expires expiration "
    "lifetime age "
    "timeout interval duration rotation version index arn ref reference selector label prefix suffix template pattern "
    "regex list schema table issuer audience user username email domain realm group role prompt required enabled "
    "disabled protected less dropout embedding embeddings dim dims vocab ratio rate weight weights loss budget window "
    "per usage level strategy command cmd helper program script hint plugin location region header headers param "
    "parameter placeholder cost price counter counts shape heads layer layers attention projection proj norm encoder "
    "decoder head dimension position positions frequency penalty bias init order sort padding pad side resolver chars "
    "charset strength complexity history retries attempts callback jar ";
/* A name that ends so holds a command that prints it. */
const char rule_commands[] = " command cmd ";
const char rule_password_commands[] = " passcommand passwordcommand passcmd passwordcmd ";
/* A name that ends so holds it: secret-value. */
const char rule_contents[] = " value plaintext plain text data content ";
/* A name that begins so is a switch. */
const char rule_switches[] = " no ask use with without disable enable allow require requires skip prompt show hide has "
                             "is need force print keep ignore generate rotate check validate export import list delete "
                             "recv ";
/* Values behind these are marks of things, however random they look. */
const char rule_identifiers[] =
    " id ids uuid guid hash digest checksum sha sha1 sha256 sha512 md5 crc etag commit rev revision ref version tag "
    "name names file path dir prefix suffix image run job trace span request object s3key arn urn model checkpoint "
    "ckpt dataset branch fingerprint pubkey cid address integrity list playlist ";

const char rule_trivial_values[] = " true false yes no on off none null nil undefined required optional prompt stdin "
                                   "redacted masked hidden ";
/* def f(token: str) */
const char rule_type_names[] =
    " str int bool bytes float any object optional string none list dict number boolean char ";
const char rule_auth_kinds[] =
    " oauth2 oauth1 md5 sha256 scram-sha-256 scram-sha-1 http1 tls1 x509 ed25519 ecdsa-p256 es256 "
    "rs256 hs256 sigv4 aws4 basic digest ntlm negotiate bearer token password ";
const char rule_auth_schemes[] = " bearer basic token digest negotiate apikey api-key key ntlm ssws genie-key "
                                 "aws4-hmac-sha256 sharedkey sharedaccesssignature oauth discogs splunk ";
const char rule_file_endings[] = " .pem .key .json .p12 .pfx .crt .cer .pub .txt .yaml .yml .toml .ini .env .jks .der "
                                 ".gpg .asc .sig .sqlite .db .cfg .conf .p8 .ppk .csv .enc .age ";

/* USER@ without a password is a person or a container here, not a token. */
const char rule_user_schemes[] = " ssh sftp scp git+ssh svn+ssh rsync git abfs abfss wasb wasbs adl gs s3 hdfs ";
/* Here it is a token. */
const char rule_token_schemes[] = " http https ws wss ftp ftps git+http git+https hg+https svn+https bzr+https ";
/* SCHEME:NAME@HOST without slashes: what stands behind the colon is no password. */
const char rule_opaque_schemes[] = " mailto sip sips xmpp acct im pres npm workspace matrix jdbc git ssh tel urn ";
/* Values that are kept unless they look like a secret. */
const char rule_plain_queries[] =
    " sslmode charset encoding format version v page per_page limit offset sort order lang locale tz timezone timeout "
    "retrywrites w authsource replicaset driver mode type region versionid partnumber raw download dl ref branch tag "
    "delimiter start end from to date year month day "
    "connect_timeout application_name schema ssl tls pool_size max_connections loglevel log_level "
    "loc view tab width height size color theme api-version api_version dataset model revision rev commit ";
/* Identifiers of pages: never a secret by their look alone. */
const char rule_public_queries[] = " list playlist ";
const char rule_secret_queries[] =
    " sig signature code state key k p pw pwd t s h hash auth se st sp sv token ticket sas ";
const char rule_secret_paths[] = "hooks.slack.com/services/\0"
                                 "hooks.slack.com/workflows/\0"
                                 "discord.com/api/webhooks/\0"
                                 "discordapp.com/api/webhooks/\0"
                                 "webhook.office.com/webhookb2/\0"
                                 "outlook.office.com/webhook/\0"
                                 "hc-ping.com/\0"
                                 "hooks.zapier.com/hooks/catch/\0"
                                 "maker.ifttt.com/trigger/\0"
                                 "chat.googleapis.com/v1/spaces/\0"
                                 "events.pagerduty.com/integration/\0"
                                 "live.twitch.tv/app/\0"
                                 "rtmp.youtube.com/live2/\0";

/* They start another program, which may be any later word. */
const char rule_carriers[] =
    " sudo doas env nohup nice ionice time timeout stdbuf setsid chrt taskset numactl unshare nsenter chroot exec "
    "command builtin xargs parallel ssh mosh srun mpirun mpiexec torchrun accelerate docker podman nerdctl kubectl oc "
    "singularity apptainer nsys ncu perf strace ltrace valgrind watch flock tini dumb-init conda mamba micromamba uv "
    "pipx "
    "poetry screen tmux systemd-run chpst gosu su-exec proot faketime unbuffer script cmd eval then do else if elif "
    "while until coproc ! { "
    "resource-tracker docker-compose compose ";
const char rule_shells[] = " sh bash zsh dash ksh ash fish busybox su runuser csh tcsh mksh ";
/* Beside shells: the first argument of theirs that is no option names the program. */
const char rule_interpreters[] = " python pypy perl ruby node nodejs php lua luajit tclsh rscript pwsh ";
/* What stands behind them as one argument is a command string. */
const char rule_shell_hosts[] = " ssh mosh eval watch parallel ";
const char rule_setters[] = " set config setenv setx put configure config:set env:set modify ";
/* Their names say that they set, what follows is a name. */
const char rule_setting_verbs[] = " set-credentials get-credentials delete-credentials unset-credentials ";
const char rule_echoes[] = " echo printf print ";
const char rule_subcommands[] = "login\0"
                                "secret\0"
                                "secrets\0"
                                "alias\0"
                                "host\0"
                                "connect\0"
                                "auth\0"
                                "put-parameter\0"
                                "add_user\0"
                                "change_password\0"
                                "encrypt_string\0";
const char rule_password_readers[] = "chpasswd\0"
                                     "sudo -S\0"
                                     "sudo -kS\0"
                                     "--password-stdin\0"
                                     "--passphrase-fd\0"
                                     "passwd --stdin\0"
                                     "cryptsetup\0"
                                     "--with-token\0"
                                     "gh auth login\0"
                                     "kinit\0"
                                     "smbpasswd -s\0"
                                     "vault login -\0";

/* By what follows a beginning: which characters, how many at least and at most, whether mixed; and the beginnings. */
#define RULE_SHAPES(X)                                                                                                 \
    X(SET_UPPER_DIGIT, 16, 16, false, "AKIA ASIA ABIA ACCA") /* AWS access keys, of users, roles and others */         \
    X(SET_ALNUM, 12, 26, true, "LTAI") /* Alibaba */                                                                   \
    X(SET_ALNUM, 32, 32, true, "AKID cio") /* Tencent, crates.io */                                                    \
    /* Google API, OAuth, client, refresh; Brevo, Dropbox, ASP.NET data protection */                                  \
    X(SET_WORD, 30, 0, false, "AIza")                                                                                  \
    X(SET_WORD, 16, 0, false, "GOCSPX- FLWSECK_TEST-")                                                                 \
    X(SET_WORD, 30, 0, true, "1//0")                                                                                   \
    X(SET_WORD, 32, 0, false, "xkeysib-")                                                                              \
    X(SET_WORD, 60, 0, false, "sl.")                                                                                   \
    X(SET_WORD, 40, 0, true, "CfDJ8")                                                                                  \
    /* Google, Square, Sentry, HubSpot, Atlassian, Flutterwave */                                                      \
    X(SET_WORD, 20, 0, false, "ya29. sq0atp- sq0csp- sntrys_ pat-na1- pat-eu1- ATATT3 ATCTT3 PRIVATE-KEY- FLWSECK-")   \
    /* Postman, 1Password */                                                                                           \
    X(SET_WORD, 24, 0, false, "PMAK- ops_eyJ")                                                                         \
    X(SET_WORD, 24, 0, true, "fo1_ fm2_") /* Fly */                                                                    \
    /* GitHub, OpenAI and others */                                                                                    \
    X(SET_ALNUM, 16, 0, true, "ghp_ gho_ ghu_ ghs_ ghr_ sk-")                                                          \
    /* GitHub, GitLab, OpenRouter, Stripe, Tavily, Docker Hub, Tailscale */                                            \
    X(SET_WORD, 16, 0, true,                                                                                           \
        "github_pat_ gldt- glrt- glptt- glcbt- glsoat- glft- glagent- sk-or- whsec_ tvly- dckr_pat_ "                  \
        "dckr_oat_ tskey-")                                                                                            \
    X(SET_WORD, 8, 0, false, "xoxa- xoxb- xoxp- xoxr- xoxs- xoxe- xoxe.xoxp- xoxc- xoxd-") /* Slack */                 \
    /* Slack, Anthropic, OpenAI and others, Stripe */                                                                  \
    X(SET_WORD, 8, 0, true,                                                                                            \
        "xapp- sk-ant- sk-proj- sk-svcacct- sk-live- sk-test- sk_live_ sk_test_ sk_prod_ rk_live_ "                    \
        "rk_test_")                                                                                                    \
    /* Hugging Face, Groq, xAI, Replicate, Perplexity, npm */                                                          \
    X(SET_ALNUM, 20, 0, true, "hf_ api_org_ gsk_ xai- r8_ pplx- npm_")                                                 \
    /* NVIDIA, LangSmith, Vault, Grafana, Figma */                                                                     \
    X(SET_WORD, 20, 0, true, "nvapi- lsv2_ hvs. hvb. hvr. glsa_ glc_ figd_")                                           \
    X(SET_WORD, 12, 0, false, "pypi-AgE")                                                                              \
    X(SET_WORD, 60, 0, true, "pypi-")                                                                                  \
    /* RubyGems, DigitalOcean, Databricks, Sentry, Supabase */                                                         \
    X(SET_HEX, 32, 0, false, "rubygems_ dop_v1_ doo_v1_ dor_v1_ dapi sntryu_ sbp_")                                    \
    X(SET_HEX, 32, 32, false, "key- AC SK") /* Mailgun, Twilio; Mailchimp is by name */                                \
    X(SET_HEX, 24, 0, false, "shpat_ shpss_ shpca_ shppa_") /* Shopify */                                              \
    X(SET_HEX, 40, 40, false, "pul-") /* Pulumi */                                                                     \
    X(SET_DOTTED, 30, 0, true, "SG.") /* SendGrid, GitLab, Dynatrace, Doppler */                                       \
    X(SET_DOTTED, 12, 0, true, "glpat-")                                                                               \
    X(SET_DOTTED, 24, 0, false, "dt0c01.")                                                                             \
    X(SET_DOTTED, 32, 0, false, "dp.st.")                                                                              \
    X(SET_ALNUM, 32, 0, false, "dp.pt.")                                                                               \
    X(SET_ALNUM, 24, 24, true, "s.") /* Vault */                                                                       \
    X(SET_ALNUM, 20, 0, false, "NRAK- lin_api_") /* New Relic, Linear */                                               \
    X(SET_ALNUM, 24, 0, true, "ntn_ ATBB") /* Notion, Atlassian */                                                     \
    X(SET_ALNUM, 32, 0, true, "secret_")                                                                               \
    X(SET_ALNUM, 60, 0, true, "EAA") /* Facebook */                                                                    \
    /* age, OpenSSH's own format in base64 */                                                                          \
    X(SET_UPPER_DIGIT, 16, 0, false, "AGE-SECRET-KEY-1")                                                               \
    X(SET_ALNUM, 8, 0, false, "b3BlbnNzaC1rZXktdjE")                                                                   \
    X(SET_ALNUM, 10, 0, false, "rzp_live_") /* Razorpay; Asana, Paystack are by name */
#define RULE_SHAPE(set_, least_, most_, needs_mix_, prefixes) {set_, least_, most_, needs_mix_},
#define RULE_PREFIXES(set_, least_, most_, needs_mix_, prefixes) prefixes "\0"
const struct shape_rule rule_shapes[] = {RULE_SHAPES(RULE_SHAPE)};
const char rule_prefixes[] = RULE_SHAPES(RULE_PREFIXES);

#define RULE_TEXT(name, text) text "\0"
static const char program_texts[] = "\0" RULE_TEXTS(RULE_TEXT);

bool rule_knows_program(struct str name)
{
    bool is_known = false;
    for (const char *text = program_texts + 1; *text && !is_known; text = rule_next(text))
        is_known = rule_lists(text, name);
    return is_known;
}

const char *rule_text(unsigned char number)
{
    const char *text = program_texts;
    while (number-- > 0)
        text = rule_next(text);
    return text;
}

#define RULE_ROWS(X)                                                                                                   \
    X(MYSQL, "p", .form = FORM_GLUED | FORM_CLUSTER, .flags = PROGRAMS_MYSQL_FLAGS)                                    \
    X(MYCLI, "p", .form = FORM_NEXT)                                                                                   \
    X(SSHPASS, "p", .form = FORM_NEXT | FORM_GLUED)                                                                    \
    X(LOGINS, "p", .subcommand = SUBCOMMAND_LOGIN, .form = FORM_NEXT | FORM_GLUED)                                     \
    X(LOGINS, "t", .subcommand = SUBCOMMAND_LOGIN, .form = FORM_NEXT)                                                  \
    X(VAULT, "", .subcommand = SUBCOMMAND_LOGIN, .form = FORM_POSITION, .position = 2, .separator = '=')               \
    X(CURL, "u", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_SPLIT, .separator = ':',                         \
        .flags = PROGRAMS_CURL_FLAGS)                                                                                  \
    X(CURL, "U", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_SPLIT, .separator = ':',                         \
        .flags = PROGRAMS_CURL_FLAGS)                                                                                  \
    X(CURL, "E", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_SPLIT, .separator = ':',                         \
        .flags = PROGRAMS_CURL_FLAGS)                                                                                  \
    X(CURL, "cert", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                                  \
    X(CURL, "proxy-cert", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                            \
    X(CURL_WGET, "user", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                             \
    X(CURL, "proxy-user", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                            \
    X(CURL, "b", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_LITERAL, .flags = PROGRAMS_CURL_FLAGS)           \
    X(HTTP, "a", .form = FORM_NEXT | FORM_GLUED | FORM_SPLIT, .separator = ':')                                        \
    X(HTTP, "auth", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                                  \
    X(AB, "A", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                                       \
    X(HEY, "a", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                                      \
    X(LFTP, "u", .form = FORM_NEXT | FORM_GLUED | FORM_SPLIT, .separator = ',')                                        \
    X(SMBCLIENT, "U", .form = FORM_NEXT | FORM_GLUED | FORM_SPLIT, .separator = '%')                                   \
    X(SMBCLIENT_SMBGET, "user", .form = FORM_NEXT | FORM_SPLIT, .separator = '%')                                      \
    X(REDIS_CLI, "a", .form = FORM_NEXT)                                                                               \
    X(MONGO, "p", .form = FORM_NEXT | FORM_GLUED)                                                                      \
    X(SQLCMD, "P", .form = FORM_NEXT | FORM_GLUED)                                                                     \
    X(SEVEN_ZIP, "p", .form = FORM_GLUED)                                                                              \
    X(RAR, "-hp", .form = FORM_PREFIX)                                                                                 \
    X(LDAP, "w", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER, .flags = PROGRAMS_LDAP_FLAGS)                          \
    X(LDAP, "s", .form = FORM_NEXT)                                                                                    \
    X(OPENSSL, "k", .form = FORM_NEXT)                                                                                 \
    X(OPENSSL, "K", .form = FORM_NEXT)                                                                                 \
    X(SNMPWALK, "A", .form = FORM_NEXT)                                                                                \
    X(SNMPWALK, "X", .form = FORM_NEXT)                                                                                \
    X(SNMPWALK, "c", .form = FORM_NEXT)                                                                                \
    X(XFREERDP, "/p:", .form = FORM_PREFIX)                                                                            \
    X(NCRACK, "p", .form = FORM_NEXT)                                                                                  \
    X(CQLSH, "p", .form = FORM_NEXT)                                                                                   \
    X(DOCTL, "t", .form = FORM_NEXT)                                                                                   \
    X(AWS, "value", .subcommand = SUBCOMMAND_PUT_PARAMETER, .form = FORM_NEXT)                                         \
    X(RABBITMQCTL, "", .subcommand = SUBCOMMAND_ADD_USER, .form = FORM_POSITION, .position = 3)                        \
    X(RABBITMQCTL, "", .subcommand = SUBCOMMAND_CHANGE_PASSWORD, .form = FORM_POSITION, .position = 3)                 \
    X(NGROK, "authtoken", .form = FORM_BARE)                                                                           \
    X(NGROK, "add-authtoken", .form = FORM_BARE)                                                                       \
    X(VNCVIEWER, "passwd", .form = FORM_NEXT)                                                                          \
    X(ANY, "from-literal", .subcommand = SUBCOMMAND_SECRET, .form = FORM_NEXT | FORM_LITERAL)                          \
    X(ANY, "body", .subcommand = SUBCOMMAND_SECRET, .form = FORM_NEXT)                                                 \
    X(ANY, "b", .subcommand = SUBCOMMAND_SECRET, .form = FORM_NEXT)                                                    \
    X(ANY, "value", .subcommand = SUBCOMMAND_SECRET, .form = FORM_NEXT)                                                \
    X(ANY, "value", .subcommand = SUBCOMMAND_SECRETS, .form = FORM_NEXT)                                               \
    X(NMCLI, "password", .form = FORM_BARE)                                                                            \
    X(NMCLI, "wifi-sec.psk", .form = FORM_BARE)                                                                        \
    X(NMCLI, "802-11-wireless-security.psk", .form = FORM_BARE)                                                        \
    X(MACHINE, "password", .form = FORM_BARE) /* netrc */                                                              \
    X(MYSQLADMIN, "password", .form = FORM_BARE)                                                                       \
    X(REDIS_CLI, "auth", .form = FORM_BARE)                                                                            \
    X(ETCDCTL, "user", .form = FORM_NEXT | FORM_SPLIT, .separator = ':')                                               \
    X(ANSIBLE_VAULT, "", .subcommand = SUBCOMMAND_ENCRYPT_STRING, .form = FORM_POSITION, .position = 2)                \
    X(WPA_PASSPHRASE, "", .form = FORM_POSITION, .position = 2)                                                        \
    X(HTPASSWD, "", .form = FORM_POSITION, .position = 3, .flags = PROGRAMS_HTPASSWD_B, .without = 'n')                \
    X(HTPASSWD, "", .form = FORM_POSITION, .position = 2, .flags = PROGRAMS_HTPASSWD_BN)                               \
    X(MC, "", .subcommand = SUBCOMMAND_ALIAS, .form = FORM_BEHIND_URL)                                                 \
    X(MC, "", .subcommand = SUBCOMMAND_HOST, .form = FORM_BEHIND_URL)                                                  \
    X(ORACLE, "", .form = FORM_ORACLE)                                                                                 \
    X(ANY, "pass:", .form = FORM_PREFIX) /* of openssl, wherever it is called */
#define RULE_ROW(name, option, ...) {PROGRAMS_##name, __VA_ARGS__},
#define RULE_OPTION(name, option, ...) option "\0"
const struct program_rule rule_programs[] = {RULE_ROWS(RULE_ROW)};
const size_t rule_program_count = sizeof(rule_programs) / sizeof(rule_programs[0]);
const char rule_options[] = RULE_ROWS(RULE_OPTION);
