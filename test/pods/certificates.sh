#!/bin/sh
# Signs a certificate for DNS names with the authority in FOLDER, in the place of cert-manager.
# Creates a missing authority.
#
# Usage: certificates.sh FOLDER NAME DNSNAME...
#
# Writes FOLDER/authority.crt, NAME.crt and NAME.key.
set -eu
folder=$1 name=$2
shift 2

key='ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
authority=$folder/authority
if [ ! -e "$authority.crt" ]; then
  # shellcheck disable=SC2086
  openssl req -x509 -newkey $key -days 30 -subj /CN=authority \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign \
    -keyout "$authority.key" -out "$authority.crt"
fi
file=$folder/$name
# shellcheck disable=SC2086
openssl req -newkey $key -subj "/CN=$1" -keyout "$file.key" -out "$file.csr"
names=$(printf ',DNS:%s' "$@")
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature\n' \
  "${names#,}" >"$file.ext"
openssl x509 -req -in "$file.csr" -CA "$authority.crt" -CAkey "$authority.key" -CAcreateserial \
  -days 30 -extfile "$file.ext" -out "$file.crt"
