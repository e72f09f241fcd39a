#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a release of resource-tracker: picks the build for this machine, downloads it, checks it against SHA256SUMS
# and puts it below a prefix; see sh install.sh --help. Nothing that was downloaded is run or installed before it is
# verified, and an installation that fails leaves things as they were. POSIX sh; needs tar and gzip, and curl or wget
# unless the release lies in a local directory.
set -eu

# Where releases are published, once they are: a URL below which there are latest/download/ and download/vVERSION/.
home_url=

name=resource-tracker
docs=share/doc/$name
# What an archive holds, and what --uninstall removes.
our_files="bin/$name
$docs/CHANGELOG.md
$docs/LICENSE
$docs/LICENSES.linked
$docs/README.md
share/bash-completion/completions/$name
share/fish/vendor_completions.d/$name.fish
share/man/man1/$name.1
share/man/man5/$name.toml.5
share/zsh/site-functions/_$name"

usage() {
    cat <<'END'
usage: sh install.sh [--from URL|DIR] [--version VERSION] [--prefix DIR] [--libc gnu|musl] [--sha256 SUM]
       sh install.sh --uninstall [--prefix DIR]

  --from URL|DIR     the directory of a release, with its SHA256SUMS (default: $RESOURCE_TRACKER_RELEASES)
  --version VERSION  only this version will do
  --prefix DIR       where to install (default: /usr/local where that can be written, else ~/.local)
  --libc gnu|musl    gnu needs glibc 2.17 or newer; musl runs everywhere, but sees no NVIDIA GPU
                     (default: gnu where it fits)
  --sha256 SUM       only the archive with this SHA-256 will do, whatever the release says of it
  --allow-http       permit plain http to other hosts than this one
  --uninstall        remove what was installed below the prefix
  --help             show this
END
}

# Not with echo: that of some shells takes a backslash for more than that.
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

is_sum() {
    case $1 in *[!0-9a-f]*) return 1 ;; esac
    [ ${#1} -eq 64 ]
}

parse_arguments() {
    from=${RESOURCE_TRACKER_RELEASES:-} version='' prefix='' libc='' sha256='' action=install allow_http=
    while [ $# -gt 0 ]; do
        case $1 in
        --from | --version | --prefix | --libc | --sha256)
            [ -n "${2:-}" ] || fail "$1 needs a value"
            case $1 in
            --from) from=$2 ;;
            --version) version=${2#v} ;;
            --prefix) prefix=$2 ;;
            --libc) libc=$2 ;;
            --sha256) sha256=$2 ;;
            esac
            shift
            ;;
        --from=*) from=${1#*=} ;;
        --version=*) version=${1#*=} && version=${version#v} ;;
        --prefix=*) prefix=${1#*=} ;;
        --libc=*) libc=${1#*=} ;;
        --sha256=*) sha256=${1#*=} ;;
        --allow-http) allow_http=yes ;;
        --uninstall) action=uninstall ;;
        -h | --help) usage && exit 0 ;;
        *) fail "unknown argument $1 (see --help)" ;;
        esac
        shift
    done
    case $libc in '' | gnu | musl) ;; *) fail "--libc is gnu or musl, not $libc" ;; esac
    [ -z "$sha256" ] || is_sum "$sha256" || fail "$sha256 is no SHA-256 (64 digits, 0 to 9 and a to f)"
    case $version in *[!0-9A-Za-z.+~-]*) fail "$version is no version" ;; esac
}

# Sets prefix to an absolute path.
choose_prefix() {
    if [ -z "$prefix" ]; then
        if [ -w /usr/local ] && { [ ! -e /usr/local/bin ] || [ -w /usr/local/bin ]; }; then
            prefix=/usr/local
        else
            [ -n "${HOME:-}" ] || fail "/usr/local cannot be written and HOME is not set; give --prefix DIR"
            prefix=$HOME/.local
        fi
    fi
    case $prefix in
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
    esac
    prefix=${prefix%/}
}

# Is what lies below the prefix one of ours? Other programs have the same name.
need_ours() {
    [ -e "$prefix/bin/$name" ] || return 0
    [ ! -e "$prefix/$docs/LICENSES.linked" ] || return 0
    "$prefix/bin/$name" -v --version 2>/dev/null </dev/null | grep -q '^mbedTLS ' ||
        fail "$prefix/bin/$name is another program of that name; $1"
}

# Prints "MAJOR MINOR" of this system's glibc, or nothing.
glibc_version() {
    words=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
    case $words in
    glibc\ *) ;;
    *)
        words=$(ldd --version 2>/dev/null | head -n 1 || true)
        case $words in *GLIBC* | *"GNU libc"*) ;; *) return 0 ;; esac
        ;;
    esac
    words=${words##* }
    case $words in
    [0-9]*.[0-9]*) ;;
    *) return 0 ;;
    esac
    minor=${words#*.}
    echo "${words%%.*} ${minor%%[!0-9]*}"
}

# Does a program run here that wants the loader $1 and glibc 2.17?
is_glibc_fit() {
    [ -e "$1" ] || return 1
    # shellcheck disable=SC2046 # two numbers
    set -- $(glibc_version)
    [ $# -eq 2 ] || return 1
    [ "$1" -gt 2 ] || { [ "$1" -eq 2 ] && [ "$2" -ge 17 ]; }
}

# Sets target to the build for this machine.
choose_target() {
    system=$(uname -s)
    [ "$system" = Linux ] || fail "this is $system; there are builds for Linux only"
    machine=$(uname -m)
    case $machine in
    x86_64 | amd64) arch=x86_64 loader=/lib64/ld-linux-x86-64.so.2 ;;
    aarch64 | arm64) arch=aarch64 loader=/lib/ld-linux-aarch64.so.1 ;;
    *) fail "no build for $machine: there are x86_64 and aarch64" ;;
    esac
    if [ -z "$libc" ]; then
        if is_glibc_fit "$loader"; then libc=gnu; else libc=musl; fi
    fi
    target=$arch-linux-$libc
}

# Does this wget check the certificates of servers? That of BusyBox does not, and has no option to name any.
can_wget_verify() { wget --help 2>&1 | grep -q -e --ca-certificate; }

# SHA256SUMS comes the same way as the archive: from a server that is not verified it proves nothing.
need_verification() {
    has curl || [ -n "$sha256" ] || can_wget_verify ||
        fail "this wget does not check the certificate of $from; install curl or GNU wget, or give --sha256 SUM of the archive"
}

# Sets from to a directory, or to a URL without a slash at its end.
choose_source() {
    if [ -z "$from" ] && [ -n "$home_url" ]; then
        from=$home_url/latest/download
        [ -z "$version" ] || from=$home_url/download/v$version
    fi
    [ -n "$from" ] || fail "where from? Give --from URL or DIR, or set RESOURCE_TRACKER_RELEASES"
    from=${from%/}
    case $from in
    *://*@*) fail "a URL with a name or a password in it is not taken" ;;
    https://*) ;;
    http://localhost[:/]* | http://127.0.0.1[:/]* | "http://[::1]"[:/]*) ;;
    http://*) [ -n "$allow_http" ] || fail "$from is not encrypted; use https, or --allow-http" ;;
    *://*) fail "$from: only https and http are known" ;;
    *)
        from=${from:-/}
        [ -d "$from" ] || fail "$from is no directory"
        case $from in /*) ;; *) from=$(pwd)/$from ;; esac
        return 0
        ;;
    esac
    has curl || has wget || fail "neither curl nor wget is here to download with; give --from DIR"
    case $from in https://*) need_verification ;; esac
}

# The first line that a tool said.
complaint() { head -n 1 "$work/complaint" 2>/dev/null | grep . || echo "no such file, or no room in ${TMPDIR:-/tmp}"; }

# That of GNU tries 20 times by default, and follows a redirect from https to http, which a proxy where nothing listens
# prevents. That of busybox may crash when it is given a time limit, and uses the same proxy for https.
fetch_with_wget() {
    if ! wget --help 2>&1 | grep -q -e --tries; then
        wget -q -O "$2" "$from/$1"
    elif [ "$protocols" = '=https' ]; then
        http_proxy=http://127.0.0.1:9 wget -nv --tries=2 --timeout=60 -O "$2" "$from/$1"
    else
        wget -nv --tries=2 --timeout=60 -O "$2" "$from/$1"
    fi
}

# Brings the file $1 of the release to $2; what is larger than some 32 MiB is cut off.
fetch() {
    case $from in
    https://*) protocols='=https' ;;
    http://*) protocols='=http,https' ;;
    *)
        [ -f "$from/$1" ] || fail "cannot get $from/$1: there is no such file"
        cp "$from/$1" "$2" 2>"$work/complaint" || fail "cannot get $from/$1: $(complaint)"
        return 0
        ;;
    esac
    (
        # A write beyond the limit fails instead of killing.
        trap '' XFSZ
        ulimit -f 65536
        if has curl; then
            curl -fsSL --proto "$protocols" --proto-redir "$protocols" --connect-timeout 20 --max-time 600 \
                -o "$2" "$from/$1" || exit 1
        else
            fetch_with_wget "$1" "$2" || exit 1
        fi
    ) 2>"$work/complaint" || fail "cannot get $from/$1: $(complaint)"
}

choose_hash() {
    for hash in sha256sum shasum openssl; do
        ! has "$hash" || return 0
    done
    fail "none of sha256sum, shasum and openssl is here: nothing can be verified"
}

sha256_of() {
    case $hash in
    sha256sum) sha256sum <"$1" ;;
    shasum) shasum -a 256 <"$1" ;;
    openssl) openssl dgst -sha256 -r <"$1" ;;
    esac | cut -c 1-64
}

# Sets archive and wanted_sum to what SHA256SUMS says of the target.
choose_archive() {
    pattern="$name-*-$target.tar.gz"
    [ -z "$version" ] || pattern="$name-$version-$target.tar.gz"
    archive='' wanted_sum='' carriage_return=$(printf '\r')
    while read -r sum file _ || [ -n "$sum" ]; do
        # As sha256sum has them, and as they come back from other systems.
        file=${file#\*} && file=${file#./} && file=${file%"$carriage_return"}
        # shellcheck disable=SC2254 # it is a pattern
        case $file in
        *[!0-9A-Za-z.+~_-]*) ;;
        $pattern)
            [ -z "$archive" ] || fail "SHA256SUMS names more than one $target build; give --version"
            archive=$file wanted_sum=$sum
            ;;
        esac
        sum='' file=
    done <"$work/SHA256SUMS"
    [ -n "$archive" ] || fail "SHA256SUMS of $from names no $pattern: nothing can be verified"
    is_sum "$wanted_sum" || fail "SHA256SUMS of $from is damaged"
    [ "${sha256:-$wanted_sum}" = "$wanted_sum" ] || fail "$archive of $from is not the one with the --sha256 you gave"
}

# Downloads, verifies and unpacks below $work/new.
get_release() {
    fetch SHA256SUMS "$work/SHA256SUMS"
    choose_archive
    fetch "$archive" "$work/archive"
    [ "$(sha256_of "$work/archive")" = "$wanted_sum" ] ||
        fail "$archive is not what SHA256SUMS says (damaged or tampered with); not installed"
    mkdir "$work/new" "$work/old"
    gzip -dc <"$work/archive" >"$work/archive.tar" 2>/dev/null || fail "$archive cannot be unpacked"
    [ "$(tar -tf "$work/archive.tar" 2>/dev/null | sort)" = "$(echo "$our_files" | sort)" ] ||
        fail "$archive holds other files than expected; not installed"
    (cd "$work/new" && tar -xof "$work/archive.tar") 2>/dev/null || fail "$archive cannot be unpacked"
    for file in $our_files; do
        if [ ! -f "$work/new/$file" ] || [ -h "$work/new/$file" ]; then
            fail "$archive: $file is no plain file; not installed"
        fi
        chmod 644 "$work/new/$file"
    done
    chmod 755 "$work/new/bin/$name"
}

# The name under which the file $1 waits beside its place, so that one rename puts it there.
waiting_name() { printf '%s\n' "$prefix/${1%/*}/.${1##*/}.new-$$"; }

# Makes a directory and notes which ones were missing, the deepest first.
make_directory() {
    above=$1
    missing=
    while [ ! -d "$above" ]; do
        missing="$missing$above
"
        above=${above%/*}
        above=${above:-/}
        [ "$above" != / ] || break
    done
    made_directories=$missing$made_directories
    mkdir -p "$1" 2>/dev/null
}

# Takes back what was done below the prefix.
undo() {
    set +e
    for file in $placed; do
        if [ -f "$work/old/$file" ] || [ -h "$work/old/$file" ]; then
            cp -pP "$work/old/$file" "$(waiting_name "$file")" && mv -f "$(waiting_name "$file")" "$prefix/$file"
        else
            rm -f "$prefix/$file"
        fi
    done 2>/dev/null
    for file in $our_files; do
        rm -f "$(waiting_name "$file")"
    done 2>/dev/null
    printf '%s\n' "$made_directories" | while read -r directory; do
        [ -z "$directory" ] || rmdir "$directory" 2>/dev/null
    done
}

# Whatever happens, nothing half done stays.
work='' made_directories='' placed='' is_changing=
clean_up() {
    status=$?
    trap - EXIT
    trap '' HUP INT TERM
    [ -z "$is_changing" ] || undo
    [ -z "$work" ] || rm -rf "$work"
    exit "$status"
}

# Puts every file beside its place, tries the program there, then renames them all.
place_files() {
    is_changing=yes
    for file in $our_files; do
        if ! make_directory "$prefix/${file%/*}" || ! cp "$work/new/$file" "$(waiting_name "$file")" 2>"$work/complaint"; then
            fail "cannot write to $prefix/${file%/*} (no rights, or no room); give another --prefix, or run this as one who may"
        fi
        [ ! -d "$prefix/$file" ] || fail "$prefix/$file is a directory; not installed"
    done
    reported=$("$(waiting_name "bin/$name")" --version 2>/dev/null | head -n 1) || reported=
    wanted=${archive%-"$target".tar.gz}
    case $reported in
    "$name ${wanted#"$name"-}") ;;
    "$name "[0-9]*) fail "$archive holds $reported; not installed" ;;
    *) fail "the $target build does not run here$([ "$libc" = musl ] || echo " (try --libc musl)"), or $prefix is mounted noexec; not installed" ;;
    esac
    for file in $our_files; do
        if [ -e "$prefix/$file" ] || [ -h "$prefix/$file" ]; then
            mkdir -p "$work/old/${file%/*}"
            cp -pP "$prefix/$file" "$work/old/$file" || fail "cannot read $prefix/$file; not installed"
        fi
        placed="$placed $file"
        mv -f "$(waiting_name "$file")" "$prefix/$file" 2>/dev/null ||
            fail "cannot replace $prefix/$file; not installed"
    done
    is_changing=
}

install_release() {
    choose_target
    choose_source
    choose_hash
    need_ours "remove it, or give another --prefix"
    for tool in tar gzip mktemp; do
        has "$tool" || fail "$tool is missing here"
    done
    trap clean_up EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    work=$(mktemp -d "${TMPDIR:-/tmp}/$name.XXXXXX" 2>/dev/null) || fail "no place for temporary files; set TMPDIR"
    get_release
    place_files
    echo "$reported ($target) is installed: $prefix/bin/$name"
    found=$(command -v "$name" 2>/dev/null || true)
    case $found in
    "$prefix/bin/$name") ;;
    '') echo "$prefix/bin is not in your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    *) echo "your PATH leads to another one first: $found" ;;
    esac
}

# Removes the directories of our files that are empty now. Below a prefix that belongs to the system only that of our
# documents: the others are there without us.
remove_empty_directories() {
    rmdir "$prefix/$docs" 2>/dev/null || true
    case $prefix in '' | /usr | /usr/local) return 0 ;; esac
    for file in $our_files; do
        directory=${file%/*}
        while rmdir "$prefix/$directory" 2>/dev/null || [ ! -e "$prefix/$directory" ]; do
            case $directory in */*) directory=${directory%/*} ;; *) break ;; esac
        done
    done
}

uninstall() {
    need_ours "nothing is removed"
    is_found=
    for file in $our_files; do
        [ -e "$prefix/$file" ] || [ -h "$prefix/$file" ] || continue
        is_found=yes
        rm -f "$prefix/$file" 2>/dev/null || fail "cannot remove $prefix/$file"
    done
    [ -n "$is_found" ] || fail "nothing is installed below ${prefix:-/}"
    remove_empty_directories
    echo "$name is removed from $prefix"
}

# Called from the last line, so that a script that was cut off on its way does nothing.
main() {
    umask 022
    parse_arguments "$@"
    choose_prefix
    case $action in
    install) install_release ;;
    uninstall) uninstall ;;
    esac
}

main "$@"
