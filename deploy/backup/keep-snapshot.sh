#!/bin/sh
# Keeps a snapshot that nodetool has taken, of all keyspaces: sh keep-snapshot.sh DATA NAME FOLDER. The
# folder is made, as data of Cassandra: for a restore it is copied to where the data was.
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
