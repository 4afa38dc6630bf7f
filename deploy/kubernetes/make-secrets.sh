#!/bin/sh
# Makes the secrets that a namespace of the service lacks, and the keys that a secret lacks since a new
# release wants them, with random values; changes no value that is there.
# Usage: make-secrets.sh NAMESPACE
set -eu
namespace=$1

random() { openssl rand -hex 32; }

# NATS reads the value of a variable as it reads its settings. Hexadecimal that begins as a number does, such
# as 3e5…, many versions take for one, and do not start. With this letter in front it is always a string.
nats_password() { echo "n$(random)"; }

# What is on a command line, every user of this machine can read: values go by standard input.
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
  echo "secret/$name is there"
}

secret cluster-secret "secret=$(random)"
secret nats-passwords "edge=$(nats_password)" "engine=$(nats_password)" "limiter=$(nats_password)" "console=$(nats_password)" "ctl=$(nats_password)"
secret cassandra-password "password=$(random)"
