/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules, in one file. A name counts by its words (api-key, apiKey and API_KEY are the same two), the last of which
 * says what it is: a token is a secret, a token file is a file. Values, URLs, shapes and programs follow.
 */

#include "mask/mask_internal.h"

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

bool rule_ends(const char *list, struct str word)
{
    for (const char *p = list; *p; p++) {
        const char *end = *p == ' ' && p[1] ? strchr(p + 1, ' ') : NULL;
        size_t n = end ? (size_t)(end - p) - 1 : 0;
        if (n > 0 && n <= word.n && has_prefix_nocase(str_from(word, word.n - n), p + 1))
            return true;
    }
    return false;
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
const char *const rule_secret_paths[] = {"hooks.slack.com/services/", "hooks.slack.com/workflows/",
    "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "webhook.office.com/webhookb2/",
    "outlook.office.com/webhook/", "hc-ping.com/", "hooks.zapier.com/hooks/catch/", "maker.ifttt.com/trigger/",
    "chat.googleapis.com/v1/spaces/", "events.pagerduty.com/integration/", "live.twitch.tv/app/",
    "rtmp.youtube.com/live2/", NULL};

/* They start another program, which may be any later word. */
const char rule_carriers[] =
    " sudo doas env nohup nice ionice time timeout stdbuf setsid chrt taskset numactl unshare nsenter chroot exec "
    "command builtin xargs parallel ssh mosh srun mpirun mpiexec torchrun accelerate docker podman nerdctl kubectl oc "
    "singularity apptainer nsys ncu perf strace ltrace valgrind watch flock tini dumb-init conda mamba micromamba uv "
    "pipx "
    "poetry screen tmux systemd-run chpst gosu su-exec proot faketime unbuffer script cmd eval then do else ! { "
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
const char *const rule_subcommands[] = {"login", "secret", "secrets", "alias", "host", "connect", "auth",
    "put-parameter", "add_user", "change_password", "encrypt_string", NULL};
const unsigned rule_login_subcommands = 1U << 0 | 1U << 6;
const char *const rule_password_readers[] = {"chpasswd", "sudo -S", "sudo -kS", "--password-stdin", "--passphrase-fd",
    "passwd --stdin", "cryptsetup", "--with-token", "gh auth login", "kinit", "smbpasswd -s", "vault login -", NULL};

const struct shape_rule rule_shapes[] = {
    {"AKIA", SET_UPPER_DIGIT, 16, 16, false}, /* AWS access keys, of users, roles and others */
    {"ASIA", SET_UPPER_DIGIT, 16, 16, false},
    {"ABIA", SET_UPPER_DIGIT, 16, 16, false},
    {"ACCA", SET_UPPER_DIGIT, 16, 16, false},
    {"LTAI", SET_ALNUM, 12, 26, true}, /* Alibaba */
    {"AKID", SET_ALNUM, 32, 32, true}, /* Tencent */
    {"AIza", SET_WORD, 30, 0, false}, /* Google API, OAuth, client, refresh */
    {"ya29.", SET_WORD, 20, 0, false},
    {"GOCSPX-", SET_WORD, 16, 0, false},
    {"1//0", SET_WORD, 30, 0, true},
    {"ghp_", SET_ALNUM, 16, 0, true}, /* GitHub */
    {"gho_", SET_ALNUM, 16, 0, true},
    {"ghu_", SET_ALNUM, 16, 0, true},
    {"ghs_", SET_ALNUM, 16, 0, true},
    {"ghr_", SET_ALNUM, 16, 0, true},
    {"github_pat_", SET_WORD, 16, 0, true},
    {"glpat-", SET_DOTTED, 12, 0, true}, /* GitLab */
    {"gldt-", SET_WORD, 16, 0, true},
    {"glrt-", SET_WORD, 16, 0, true},
    {"glptt-", SET_WORD, 16, 0, true},
    {"glcbt-", SET_WORD, 16, 0, true},
    {"glsoat-", SET_WORD, 16, 0, true},
    {"glft-", SET_WORD, 16, 0, true},
    {"glagent-", SET_WORD, 16, 0, true},
    {"xoxa-", SET_WORD, 8, 0, false}, /* Slack */
    {"xoxb-", SET_WORD, 8, 0, false},
    {"xoxp-", SET_WORD, 8, 0, false},
    {"xoxr-", SET_WORD, 8, 0, false},
    {"xoxs-", SET_WORD, 8, 0, false},
    {"xoxe-", SET_WORD, 8, 0, false},
    {"xoxe.xoxp-", SET_WORD, 8, 0, false},
    {"xoxc-", SET_WORD, 8, 0, false},
    {"xoxd-", SET_WORD, 8, 0, false},
    {"xapp-", SET_WORD, 8, 0, true},
    {"sk-ant-", SET_WORD, 8, 0, true}, /* Anthropic, OpenAI and others */
    {"sk-proj-", SET_WORD, 8, 0, true},
    {"sk-svcacct-", SET_WORD, 8, 0, true},
    {"sk-or-", SET_WORD, 16, 0, true},
    {"sk-live-", SET_WORD, 8, 0, true},
    {"sk-test-", SET_WORD, 8, 0, true},
    {"sk-", SET_ALNUM, 16, 0, true},
    {"sk_live_", SET_WORD, 8, 0, true}, /* Stripe */
    {"sk_test_", SET_WORD, 8, 0, true},
    {"sk_prod_", SET_WORD, 8, 0, true},
    {"rk_live_", SET_WORD, 8, 0, true},
    {"rk_test_", SET_WORD, 8, 0, true},
    {"whsec_", SET_WORD, 16, 0, true},
    {"hf_", SET_ALNUM, 20, 0, true}, /* Hugging Face */
    {"api_org_", SET_ALNUM, 20, 0, true},
    {"gsk_", SET_ALNUM, 20, 0, true}, /* Groq, xAI, Replicate, Perplexity, NVIDIA, LangSmith, Tavily */
    {"xai-", SET_ALNUM, 20, 0, true},
    {"r8_", SET_ALNUM, 20, 0, true},
    {"pplx-", SET_ALNUM, 20, 0, true},
    {"nvapi-", SET_WORD, 20, 0, true},
    {"lsv2_", SET_WORD, 20, 0, true},
    {"tvly-", SET_WORD, 16, 0, true},
    {"npm_", SET_ALNUM, 20, 0, true}, /* npm, PyPI, RubyGems, crates.io, Docker Hub */
    {"pypi-AgE", SET_WORD, 12, 0, false},
    {"pypi-", SET_WORD, 60, 0, true},
    {"rubygems_", SET_HEX, 32, 0, false},
    {"cio", SET_ALNUM, 32, 32, true},
    {"dckr_pat_", SET_WORD, 16, 0, true},
    {"dckr_oat_", SET_WORD, 16, 0, true},
    {"SG.", SET_DOTTED, 30, 0, true}, /* SendGrid, Mailgun, Brevo, Mailchimp is by name */
    {"key-", SET_HEX, 32, 32, false},
    {"xkeysib-", SET_WORD, 32, 0, false},
    {"AC", SET_HEX, 32, 32, false}, /* Twilio */
    {"SK", SET_HEX, 32, 32, false},
    {"dop_v1_", SET_HEX, 32, 0, false}, /* DigitalOcean */
    {"doo_v1_", SET_HEX, 32, 0, false},
    {"dor_v1_", SET_HEX, 32, 0, false},
    {"shpat_", SET_HEX, 24, 0, false}, /* Shopify, Square */
    {"shpss_", SET_HEX, 24, 0, false},
    {"shpca_", SET_HEX, 24, 0, false},
    {"shppa_", SET_HEX, 24, 0, false},
    {"sq0atp-", SET_WORD, 20, 0, false},
    {"sq0csp-", SET_WORD, 20, 0, false},
    {"dapi", SET_HEX, 32, 0, false}, /* Databricks, Vault, Grafana, New Relic, Sentry, Dynatrace, Postman */
    {"hvs.", SET_WORD, 20, 0, true},
    {"hvb.", SET_WORD, 20, 0, true},
    {"hvr.", SET_WORD, 20, 0, true},
    {"s.", SET_ALNUM, 24, 24, true},
    {"glsa_", SET_WORD, 20, 0, true},
    {"glc_", SET_WORD, 20, 0, true},
    {"NRAK-", SET_ALNUM, 20, 0, false},
    {"sntrys_", SET_WORD, 20, 0, false},
    {"sntryu_", SET_HEX, 32, 0, false},
    {"dt0c01.", SET_DOTTED, 24, 0, false},
    {"PMAK-", SET_WORD, 24, 0, false},
    {"lin_api_", SET_ALNUM, 20, 0, false}, /* Linear, Notion, Figma, HubSpot, Airtable, Atlassian, Asana is by name */
    {"ntn_", SET_ALNUM, 24, 0, true},
    {"secret_", SET_ALNUM, 32, 0, true},
    {"figd_", SET_WORD, 20, 0, true},
    {"pat-na1-", SET_WORD, 20, 0, false},
    {"pat-eu1-", SET_WORD, 20, 0, false},
    {"ATATT3", SET_WORD, 20, 0, false},
    {"ATCTT3", SET_WORD, 20, 0, false},
    {"ATBB", SET_ALNUM, 24, 0, true},
    {"tskey-", SET_WORD, 16, 0,
        true}, /* Tailscale, Pulumi, Supabase, Doppler, Terraform Cloud, Fly, 1Password, Dropbox */
    {"pul-", SET_HEX, 40, 40, false},
    {"sbp_", SET_HEX, 32, 0, false},
    {"dp.pt.", SET_ALNUM, 32, 0, false},
    {"dp.st.", SET_DOTTED, 32, 0, false},
    {"fo1_", SET_WORD, 24, 0, true},
    {"fm2_", SET_WORD, 24, 0, true},
    {"ops_eyJ", SET_WORD, 24, 0, false},
    {"sl.", SET_WORD, 60, 0, false},
    {"EAA", SET_ALNUM, 60, 0, true}, /* Facebook */
    {"PRIVATE-KEY-", SET_WORD, 20, 0, false},
    {"AGE-SECRET-KEY-1", SET_UPPER_DIGIT, 16, 0, false}, /* age, OpenSSH's own format in base64 */
    {"b3BlbnNzaC1rZXktdjE", SET_ALNUM, 8, 0, false},
    {"CfDJ8", SET_WORD, 40, 0, true}, /* ASP.NET data protection */
    {"rzp_live_", SET_ALNUM, 10, 0, false}, /* Razorpay, Flutterwave, Paystack by name */
    {"FLWSECK-", SET_WORD, 20, 0, false},
    {"FLWSECK_TEST-", SET_WORD, 16, 0, false},
};
const size_t rule_shape_count = sizeof(rule_shapes) / sizeof(rule_shapes[0]);

#define ANY " * "
#define LDAP " ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldapcompare ldappasswd ldapmodrdn ldapvi "
#define LOGINS                                                                                                         \
    " docker podman nerdctl buildah skopeo helm oras az oc cf crane regctl ibmcloud vault argocd tsh rancher flyctl "  \
    "fly "                                                                                                             \
    "railway vercel supabase npm heroku oc kubectl bw lpass "
#define CURL_FLAGS "0123468afgijklnpqsvBGIJLMNORSVZ#"
#define ORACLE " sqlplus sqlldr exp imp expdp impdp rman tnsping sqlcl sql "
const struct program_rule rule_programs[] = {
    {" mysql mariadb mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlslap mysqlbinlog mysqlpump mysqlsh "
     "mariadb-dump mariadb-admin mariadb-import mariadb-check mariadb-show mysql_upgrade mycli xtrabackup mariabackup ",
        .option = "p", .form = FORM_GLUED | FORM_CLUSTER, .flags = "sNBtvfqrAHEXCnGb"},
    {" mycli pgcli ", .option = "p", .form = FORM_NEXT}, {" sshpass ", .option = "p", .form = FORM_NEXT | FORM_GLUED},
    {LOGINS, .subcommand = "login", .option = "p", .form = FORM_NEXT | FORM_GLUED},
    {LOGINS, .subcommand = "login", .option = "t", .form = FORM_NEXT},
    {" vault ", .subcommand = "login", .form = FORM_POSITION, .position = 2, .separator = '='},
    {" curl ", .option = "u", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_SPLIT, .separator = ':',
        .flags = CURL_FLAGS},
    {" curl ", .option = "U", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_SPLIT, .separator = ':',
        .flags = CURL_FLAGS},
    {" curl ", .option = "E", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_SPLIT, .separator = ':',
        .flags = CURL_FLAGS},
    {" curl ", .option = "cert", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" curl ", .option = "proxy-cert", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" curl wget ", .option = "user", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" curl ", .option = "proxy-user", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" curl ", .option = "b", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER | FORM_LITERAL, .flags = CURL_FLAGS},
    {" http https xh xhs httpie ", .option = "a", .form = FORM_NEXT | FORM_GLUED | FORM_SPLIT, .separator = ':'},
    {" http https xh xhs httpie ", .option = "auth", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" ab siege hey wrk oha ", .option = "A", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" hey ", .option = "a", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" lftp ", .option = "u", .form = FORM_NEXT | FORM_GLUED | FORM_SPLIT, .separator = ','},
    {" smbclient smbget rpcclient net smbmap winexe pdbedit smbcacls nmblookup ", .option = "U",
        .form = FORM_NEXT | FORM_GLUED | FORM_SPLIT, .separator = '%'},
    {" smbclient smbget rpcclient net ", .option = "user", .form = FORM_NEXT | FORM_SPLIT, .separator = '%'},
    {" redis-cli valkey-cli keydb-cli ", .option = "a", .form = FORM_NEXT},
    {" mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop bsondump beeline rdesktop "
     "useradd "
     "usermod groupmod ncftp ncftpput ncftpget ",
        .option = "p", .form = FORM_NEXT | FORM_GLUED},
    {" sqlcmd bcp osql mosquitto_pub mosquitto_sub mosquitto_rr ipmitool zip unzip zipcloak tsql freebcp ",
        .option = "P", .form = FORM_NEXT | FORM_GLUED},
    {" 7z 7za 7zr 7zz rar unrar ", .option = "p", .form = FORM_GLUED},
    {" rar unrar ", .option = "-hp", .form = FORM_PREFIX},
    {LDAP, .option = "w", .form = FORM_NEXT | FORM_GLUED | FORM_CLUSTER, .flags = "xvnLZACcIQMN"},
    {LDAP, .option = "s", .form = FORM_NEXT}, {" openssl ", .option = "k", .form = FORM_NEXT},
    {" openssl ", .option = "K", .form = FORM_NEXT},
    {" snmpwalk snmpget snmpset snmpbulkwalk snmpbulkget snmptrap snmptable snmpstatus ", .option = "A",
        .form = FORM_NEXT},
    {" snmpwalk snmpget snmpset snmpbulkwalk snmpbulkget snmptrap snmptable snmpstatus ", .option = "X",
        .form = FORM_NEXT},
    {" snmpwalk snmpget snmpset snmpbulkwalk snmpbulkget snmptrap snmptable snmpstatus ", .option = "c",
        .form = FORM_NEXT},
    {" xfreerdp xfreerdp3 wlfreerdp sdl-freerdp freerdp ", .option = "/p:", .form = FORM_PREFIX},
    {" ncrack hydra medusa crackmapexec netexec nxc evil-winrm ", .option = "p", .form = FORM_NEXT},
    {" cqlsh influx twine devpi crackmap ", .option = "p", .form = FORM_NEXT},
    {" doctl codecov ", .option = "t", .form = FORM_NEXT},
    {" aws ", .subcommand = "put-parameter", .option = "value", .form = FORM_NEXT},
    {" rabbitmqctl ", .subcommand = "add_user", .form = FORM_POSITION, .position = 3},
    {" rabbitmqctl ", .subcommand = "change_password", .form = FORM_POSITION, .position = 3},
    {" ngrok ", .option = "authtoken", .form = FORM_BARE}, {" ngrok ", .option = "add-authtoken", .form = FORM_BARE},
    {" vncviewer x11vnc ", .option = "passwd", .form = FORM_NEXT},
    {ANY, .subcommand = "secret", .option = "from-literal", .form = FORM_NEXT | FORM_LITERAL},
    {ANY, .subcommand = "secret", .option = "body", .form = FORM_NEXT},
    {ANY, .subcommand = "secret", .option = "b", .form = FORM_NEXT},
    {ANY, .subcommand = "secret", .option = "value", .form = FORM_NEXT},
    {ANY, .subcommand = "secrets", .option = "value", .form = FORM_NEXT},
    {" nmcli ", .option = "password", .form = FORM_BARE}, {" nmcli ", .option = "wifi-sec.psk", .form = FORM_BARE},
    {" nmcli ", .option = "802-11-wireless-security.psk", .form = FORM_BARE},
    {" machine ", .option = "password", .form = FORM_BARE}, /* netrc */
    {" mysqladmin mariadb-admin ", .option = "password", .form = FORM_BARE},
    {" redis-cli valkey-cli keydb-cli ", .option = "auth", .form = FORM_BARE},
    {" etcdctl ", .option = "user", .form = FORM_NEXT | FORM_SPLIT, .separator = ':'},
    {" ansible-vault ", .subcommand = "encrypt_string", .form = FORM_POSITION, .position = 2},
    {" wpa_passphrase ", .form = FORM_POSITION, .position = 2},
    {" htpasswd ", .form = FORM_POSITION, .position = 3, .with = "b", .without = "n"},
    {" htpasswd ", .form = FORM_POSITION, .position = 2, .with = "bn"},
    {" mc mcli ", .subcommand = "alias", .form = FORM_BEHIND_URL},
    {" mc mcli ", .subcommand = "host", .form = FORM_BEHIND_URL}, {ORACLE, .form = FORM_ORACLE},
    {ANY, .option = "pass:", .form = FORM_PREFIX}, /* of openssl, wherever it is called */
};
const size_t rule_program_count = sizeof(rule_programs) / sizeof(rule_programs[0]);
