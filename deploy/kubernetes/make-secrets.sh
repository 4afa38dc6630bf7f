#!/bin/sh
# Makes the secrets that a namespace of the service lacks, with random values; changes none that is there.
# Usage: make-secrets.sh NAMESPACE
set -eu
namespace=$1

random() { openssl rand -hex 32; }

# NATS reads the value of a variable as it reads its settings. Hexadecimal that begins as a number does, such
# as 3e5…, many versions take for one, and do not start. With this letter in front it is always a string.
nats_password() { echo "n$(random)"; }

# secret NAME KEY=VALUE...
secret() {
  name=$1
  shift
  if kubectl --namespace "$namespace" get secret "$name" >/dev/null 2>&1; then
    echo "secret/$name is there"
    return
  fi
  {
    echo 'apiVersion: v1'
    echo 'kind: Secret'
    echo "metadata: { name: $name }"
    echo 'stringData:'
    for pair in "$@"; do echo "  ${pair%%=*}: \"${pair#*=}\""; done
  } | kubectl --namespace "$namespace" create --filename -
}

# By standard input: what is on a command line, every user of this machine can read.
secret cluster-secret "secret=$(random)"
secret nats-passwords "edge=$(nats_password)" "engine=$(nats_password)" "limiter=$(nats_password)" "ctl=$(nats_password)"
secret cassandra-password "password=$(random)"
