#!/usr/bin/env bash
# Copies programs and folders of this machine into a folder, which becomes the root of an image. All
# paths stay the same. Also copies the libraries that are linked to these programs.
#
# Usage: collect-programs.sh FOLDER PATH...
set -euo pipefail
folder=$1
shift

mkdir -p "$folder/etc" "$folder/tmp"
chmod 1777 "$folder/tmp"
echo 'hosts: files dns' >"$folder/etc/nsswitch.conf"
# The source code of Java is a link to a package that is not installed.
tar --create --dereference --exclude=src.zip --directory / "${@#/}" |
  tar --extract --directory "$folder"
find "$folder" -type f \( -perm -u+x -o -name '*.so*' \) | while read -r file; do
  # `ldd` fails for a static program.
  ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true
done | sort -u | while read -r library; do
  case $library in "$folder"*) continue ;; esac
  mkdir -p "$folder$(dirname "$library")"
  cp -L "$library" "$folder$library"
done
