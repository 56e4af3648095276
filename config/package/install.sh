#!/bin/sh
# Installs lupin for the user who runs this, without root. From the folder of the tarball:
#
#   ./install.sh                     into ~/.local; again, to install another version over it
#   ./install.sh --prefix FOLDER     into another folder
#   ./install.sh uninstall           takes it away (--prefix as before); rules, CA and records stay
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$HOME/.local
# The copy of this script that an installation left knows where that is.
if [ -e "$here/files" ]; then prefix=${here%/share/lupin}; fi
action=install

fail() {
    echo "install.sh: $1" >&2
    exit "${2:-1}"
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ $# -ge 2 ] || fail "--prefix wants a folder: ./install.sh --prefix FOLDER" 64
            prefix=$2
            shift
            ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        uninstall) action=uninstall ;;
        *) fail "unknown argument \"$1\"; try --prefix FOLDER or uninstall" 64 ;;
    esac
    shift
done
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac
# The path stands in a systemd unit, to which other characters say something.
case $prefix in
    *[!A-Za-z0-9/._+@-]*) fail "$prefix: the path may have letters, digits and /._+@- only" 64 ;;
esac
# The files of an installation, by their paths below the prefix.
list=$prefix/share/lupin/files

# Removes the files whose paths it reads, and folders that become empty.
remove_files() {
    while read -r file; do
        rm -f "$prefix/$file"
        (cd "$prefix" && rmdir -p "$(dirname "$file")" 2>/dev/null) || true
    done
}

# Ends with what is missing on this machine, and how to get it.
check_machine() {
    code=0
    says=$(LD_BIND_NOW=1 "$here/bin/lupin" version 2>&1) || code=$?
    [ "$code" != 0 ] || return 0
    case $(LC_ALL=C LD_TRACE_LOADED_OBJECTS=1 "$here/bin/lupin" 2>&1 || true) in
        *GLIBC_*"not found"*)
            fail "this system's glibc is too old: lupin needs 2.36, as of Debian 12 or Ubuntu 24.04"
            ;;
        *"=> not found"*) name_libraries ;;
        *"rror loading shared"* | *": not found"* | *"No such file"*)
            fail "lupin needs glibc, and this system has another C library"
            ;;
    esac
    fail "lupin does not start here: $says"
}

name_libraries() {
    . /etc/os-release 2>/dev/null || true
    case " ${ID:-} ${ID_LIKE:-} " in
        *" debian "* | *" ubuntu "*) column=2 command='sudo apt install' ;;
        *" fedora "* | *" rhel "*) column=3 command='sudo dnf install' ;;
        *suse*) column=4 command='sudo zypper install' ;;
        *" arch "*) column=5 command='sudo pacman -S' ;;
        *) column=2 command="install what Debian calls" ;;
    esac
    missing=$(LC_ALL=C LD_TRACE_LOADED_OBJECTS=1 "$here/bin/lupin" 2>&1 |
        sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u)
    packages=$(for library in $missing; do
        awk -v name="$library" -v column="$column" '$1 == name {print $column}' \
            "$here/share/lupin/libraries.txt"
    done | sort -u)
    fail "this machine lacks $(echo $missing | sed 's/ /, /g'); type: $command $(echo $packages)"
}

if [ "$action" = uninstall ]; then
    [ -e "$list" ] || fail "there is no lupin of this installer in $prefix"
    if command -v systemctl >/dev/null; then
        systemctl --user disable --now lupin.socket lupin.service 2>/dev/null || true
    fi
    remove_files <<END
$(cat "$list")
END
    echo "lupin is gone from $prefix. What stays is yours: ~/.config/lupin (rules, CA) and"
    echo "~/.local/state/lupin (cache, records)."
    exit 0
fi

[ -x "$here/bin/lupin" ] || fail "this is an installation; run the install.sh of a tarball"
check_machine
umask 022
old=$(cat "$list" 2>/dev/null || true)
new=$(cd "$here" && find bin share -type f && echo share/lupin/install.sh && echo share/lupin/files)
(cd "$here" && find bin share -type d) | (mkdir -p "$prefix" && cd "$prefix" && xargs mkdir -p)
for file in $new; do
    from=$here/$file
    case $file in
        */install.sh) from=$here/install.sh ;;
        */files) continue ;;
    esac
    # A new file takes the old one's place, so a lupin that runs goes on with its own.
    cp "$from" "$prefix/$file.new"
    mv -f "$prefix/$file.new" "$prefix/$file"
done
printf '%s\n' "$old" | grep -vxF "$new" | grep . | remove_files
printf '%s\n' "$new" >"$list"
unit=$prefix/share/systemd/user/lupin.service
sed "s|/usr/bin/lupin|$prefix/bin/lupin|" "$here/share/systemd/user/lupin.service" >"$unit"

echo "Installed $("$prefix/bin/lupin" version | cut -d ' ' -f 1,2) in $prefix"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *)
        echo "Put it into PATH, now and in ~/.profile:"
        echo "  export PATH=\"$prefix/bin:\$PATH\""
        ;;
esac
echo "Try it:    lupin exec -- curl http://example.com/"
echo "Remove it: $prefix/share/lupin/install.sh uninstall"
