#!/bin/sh
# Creates missing secrets in a namespace of the service, and keys that a new release adds, with
# random values. Changes no existing value.
#
# Usage: make-secrets.sh NAMESPACE
set -eu
namespace=$1

random() { openssl rand -hex 32; }

# NATS parses a variable like a setting: many versions read hexadecimal text such as 3e5… as a
# number, and do not start. The leading letter makes the value a string.
nats_password() { echo "n$(random)"; }

# Pass values on standard input, because every user of this machine can read command lines.
string_data() {
  echo 'stringData:'
  for pair in "$@"; do echo "  ${pair%%=*}: \"${pair#*=}\""; done
}

# secret NAME KEY=VALUE...
secret() {
  name=$1
  shift
  if ! kubectl --namespace "$namespace" get secret "$name" >/dev/null 2>&1; then
    {
      echo 'apiVersion: v1'
      echo 'kind: Secret'
      echo "metadata: { name: $name }"
      string_data "$@"
    } | kubectl --namespace "$namespace" create --filename -
    return
  fi
  for pair in "$@"; do
    key=${pair%%=*}
    is=$(kubectl --namespace "$namespace" get secret "$name" --output "jsonpath={.data.$key}")
    [ -n "$is" ] || string_data "$pair" |
      kubectl --namespace "$namespace" patch secret "$name" --patch-file /dev/stdin
  done
  echo "secret/$name exists"
}

secret cluster-secret "secret=$(random)"
secret nats-passwords "edge=$(nats_password)" "engine=$(nats_password)" "limiter=$(nats_password)" "console=$(nats_password)" "ctl=$(nats_password)"
secret cassandra-password "password=$(random)"
