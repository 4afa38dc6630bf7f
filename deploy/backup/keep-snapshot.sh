#!/bin/sh
# Copies a nodetool snapshot of all keyspaces into a new folder: sh keep-snapshot.sh DATA NAME
# FOLDER. The folder has Cassandra's layout. To restore, copy the folder to Cassandra's data folder.
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
