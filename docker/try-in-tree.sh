#!/bin/sh
# What docker/try-packages.sh tries inside a tree of Debian, as root of it: both packages, each as
# the people do who have it, with servers that are made here.
set -eu

say() { echo "-- $1"; }
fail() {
    echo "try-in-tree.sh: $1" >&2
    tail -n 20 /tmp/*.log >&2
    exit 1
}
# wanted WORDS FILE: the file says so, soon at the latest.
wanted() {
    tries=0
    until grep -F -e "$1" "$2" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || fail "no \"$1\" in $2"
        sleep 0.1
    done
}
# gets URL OPTIONS…: curl gets the origin's page through lupin.
gets() {
    curl -sSf --proxy "$proxy" --cacert ca.pem "$@" | grep -F "from the origin" >/dev/null ||
        fail "curl does not get $1"
}
as_user() { runuser -u tester -- env HOME="$home" PATH="$home/.local/bin:/usr/bin:/bin" "$@"; }

busybox ip link set lo up
useradd --create-home tester
home=$(getent passwd tester | cut -d : -f 6)
cd "$home"
# Whatever is tried here comes from the folder.
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*

say "servers: the repository, an origin of http and one of https"
mkdir /srv/origin
echo "from the origin" >/srv/origin/page
busybox httpd -p 127.0.0.1:8001 -h /srv/apt
busybox httpd -p 127.0.0.1:8002 -h /srv/origin
echo "127.0.0.1 origin.test" >>/etc/hosts
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=origin.test \
    -addext subjectAltName=DNS:origin.test -keyout /srv/origin.key -out /srv/origin.pem 2>/dev/null
# origin PORT OPTIONS…: an origin of https.
origin() {
    port=$1
    shift
    (cd /srv/origin && exec openssl s_server -accept "127.0.0.1:$port" -WWW -cert /srv/origin.pem \
        -key /srv/origin.key "$@" >"/tmp/origin-$port.log" 2>&1) &
    wanted ACCEPT "/tmp/origin-$port.log"
}
origin 8443

say "the tarball, by a user who is not root"
tarball=$(cd /srv/apt && echo lupin-*.tar.gz)
as_user curl -sSf -O "http://127.0.0.1:8001/$tarball"
as_user tar xzf "$tarball"
library=$(echo /usr/lib/*/libnghttp2.so.14)
mv "$library" "$library.away"
as_user "./${tarball%.tar.gz}/install.sh" >/tmp/install.log 2>&1 || true
wanted "lacks libnghttp2.so.14; type: sudo apt install libnghttp2-14" /tmp/install.log
mv "$library.away" "$library"
as_user "./${tarball%.tar.gz}/install.sh"
as_user lupin version
# A container may have no /proc.
unshare --mount sh -c 'umount -l /proc && exec timeout 5 "$@"' sh \
    "$home/.local/bin/lupin" version >/dev/null || fail "lupin needs /proc for its arguments"

cat >rules.yaml <<END
lupin: 1
upstream: {tls: {roots: [/srv/origin.pem]}}
access: {deny_targets: [link-local]}
rules:
  - name: seen
    match: https://origin.test/**
    response: [{set: {x-seen: "yes"}}]
END
as_user lupin check rules.yaml
as_user lupin serve --rules rules.yaml >/tmp/lupin.log 2>/tmp/lupin-errors.log &
wanted "listening on 127.0.0.1:8080" /tmp/lupin-errors.log
proxy=http://127.0.0.1:8080

say "the package, by apt from the folder, through lupin"
curl -sSf --proxy "$proxy" -o /etc/apt/sources.list.d/lupin.sources \
    http://127.0.0.1:8001/lupin.sources
export DEBIAN_FRONTEND=noninteractive
apt-get -qq -o Acquire::http::Proxy="$proxy" update
apt-get -qq -o Acquire::http::Proxy="$proxy" --yes install lupin >/tmp/apt.log 2>&1 ||
    fail "apt does not install lupin"
wanted "/lupin_" /tmp/lupin.log
[ "$(lupin version)" = "$(as_user lupin version)" ] || fail "the two packages differ"

say "http, and https that lupin decrypts"
as_user lupin ca export >ca.pem
gets http://127.0.0.1:8002/page
gets https://origin.test:8443/page -D head
wanted "x-seen: yes" head

# OpenSSL has the group from 3.5 on: lupin says so, and offers it to both sides.
group=X25519MLKEM768
if openssl list -kem-algorithms | grep -i "$group" >/dev/null; then
    say "with $group both ways"
    lupin version | grep -F "with $group" >/dev/null || fail "lupin version denies $group"
    # An origin that takes nothing else.
    origin 8444 -groups "$group"
    gets https://origin.test:8444/page
    echo | openssl s_client -proxy 127.0.0.1:8080 -connect origin.test:8443 -groups "$group" \
        >/tmp/client.log 2>&1 || fail "lupin does not take $group from a client"
    wanted "$group" /tmp/client.log
else
    say "without $group"
    lupin version | grep -F "without $group" >/dev/null || fail "lupin version claims $group"
fi

say "exec, confined, by a user who is not root"
as_user /usr/bin/lupin exec --confine --rules rules.yaml -- sh -c '
    curl -sSf https://origin.test:8443/page && ! busybox nc -w 2 127.0.0.1 8002 </dev/null
' >/tmp/confined.log 2>&1 || fail "exec --confine fails"
wanted "from the origin" /tmp/confined.log

say "what is left when they go"
mkdir -p /var/lib/lupin/.config
touch /var/lib/lupin/.config/ca
apt-get -qq --yes remove lupin >/tmp/apt.log 2>&1
[ ! -e /usr/bin/lupin ] && [ -e /var/lib/lupin/.config/ca ] && [ -e /etc/lupin/lupin.yaml ] ||
    fail "remove takes too little or too much"
apt-get -qq --yes purge lupin >/tmp/apt.log 2>&1
[ ! -e /var/lib/lupin ] && [ ! -e /etc/lupin ] && ! getent passwd lupin >/dev/null ||
    fail "purge leaves something"
as_user .local/share/lupin/install.sh uninstall
left=$(find .local -type f ! -path '.local/state/*')
[ -z "$left" ] || fail "uninstall leaves $left"
