#!/bin/sh
# Copies Node and its system files into a folder, which becomes the root of an image.
#
# Usage: collect-runtime.sh FOLDER [NODE [SYSTEM LIBRARY...]]
#
# By default, takes the libraries that this machine links to NODE. For a NODE of another
# architecture, takes these libraries from the folder SYSTEM.
set -eu
folder=$1
node=${2:-$(command -v node)}
system=${3:-}
if [ $# -gt 3 ]; then shift 3; else set --; fi

mkdir -p "$folder/usr/local/bin" "$folder/etc" "$folder/tmp"
cp "$node" "$folder/usr/local/bin/node"

# Node's libraries and their loader, at their look-up paths.
[ $# -gt 0 ] || set -- $(ldd "$node" | grep -o '/[^ ]*' | sort -u)
for library in "$@"; do
  mkdir -p "$folder$(dirname "$library")"
  cp -L "$system$library" "$folder$library"
done

# Resolve host names from /etc/hosts first. By default, the C library would ask the network first.
echo 'hosts: files dns' >"$folder/etc/nsswitch.conf"
echo 'node:x:1000:1000::/nonexistent:/usr/sbin/nologin' >"$folder/etc/passwd"
echo 'node:x:1000:' >"$folder/etc/group"
chmod 1777 "$folder/tmp"
