#!/bin/sh
# Makes the secrets that a namespace of the service lacks, with random values; changes none that is there.
# Usage: make-secrets.sh NAMESPACE
set -eu
namespace=$1

random() { openssl rand -hex 32; }

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
    for pair in "$@"; do echo "  ${pair%%=*}: ${pair#*=}"; done
  } | kubectl --namespace "$namespace" create --filename -
}

# By standard input: what is on a command line, every user of this machine can read.
secret cluster-secret "secret=$(random)"
secret nats-passwords "edge=$(random)" "engine=$(random)" "limiter=$(random)" "ctl=$(random)"
secret cassandra-password "password=$(random)"
