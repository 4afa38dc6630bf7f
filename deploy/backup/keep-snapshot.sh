#!/bin/sh
# Keeps a snapshot of all keyspaces taken by nodetool: sh keep-snapshot.sh DATA NAME FOLDER. Creates
# the folder with Cassandra's layout. For a restore, copy it to the place of the data.
set -eu
data=$1 name=$2 folder=$3
mkdir -p "$(dirname "$folder")"
mkdir "$folder"
folder=$(cd "$folder" && pwd)
cd "$data"
for snapshot in */*/snapshots/"$name"; do
  table=${snapshot%/snapshots/*}
  mkdir -p "$folder/$table"
  find "$snapshot" -maxdepth 1 -type f ! -name manifest.json ! -name schema.cql \
    -exec cp {} "$folder/$table/" \;
done
