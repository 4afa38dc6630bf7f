#!/usr/bin/env bash
# Makes the certificates for the TLS tests. No other system trusts them.
# Usage, in this folder: bash make.sh
set -euo pipefail
cd "$(dirname "$0")"
FROM=20240101000000Z
LONG=21240101000000Z
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

request() { # name
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
    -keyout "$work/$1.key" -out "$work/$1.csr"
}

sign() { # name, end of validity, extensions, further options
  : >"$work/index"
  cat >"$work/config" <<CONFIG
[ca]
default_ca = it
[it]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[extensions]
$3
CONFIG
  openssl ca -batch -notext -config "$work/config" -extensions extensions \
    -startdate $FROM -enddate "$2" -in "$work/$1.csr" -out "$work/$1.crt" "${@:4}"
}

authority() { # name
  request "$1"
  sign "$1" $LONG 'basicConstraints = critical,CA:TRUE' -selfsign -keyfile "$work/$1.key"
}

process() { # name, authority, names in the certificate, end of validity
  request "$1"
  sign "$1" "$4" "subjectAltName = $3" -cert "$work/$2.crt" -keyfile "$work/$2.key"
  mkdir -p "$1"
  cp "$work/$1.key" "$1/tls.key"
  cp "$work/$1.crt" "$1/tls.crt"
  cp "$work/$2.crt" "$1/ca.crt"
}

authority ours
authority theirs
roles=(edge engine limiter courier console ctl)
every=$(printf ',DNS:%s.identity-engine' "${roles[@]}")
every=${every#,}
for role in "${roles[@]}"; do process "$role" ours "DNS:$role.identity-engine" $LONG; done
process member ours "$every" $LONG
process stranger theirs "$every" $LONG
# The name from before roles existed, a wildcard, and a name that only resembles a role.
process misnamed ours 'DNS:identity-engine,DNS:*.identity-engine,DNS:engine.identity-engine.else' $LONG
process expired ours "$every" 20240102000000Z
process store ours DNS:store.internal,DNS:localhost,IP:127.0.0.1 $LONG
