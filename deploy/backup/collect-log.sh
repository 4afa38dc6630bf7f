#!/bin/sh
# Copies the segments that Cassandra must replay into a new folder: sh collect-log.sh ARCHIVE MARK
# FOLDER. Segments may be missing at the beginning of the archive (forget-log.sh), but not in the
# middle.
set -eu
archive=$1 mark=$1/marks/$2 folder=$3
test -f "$mark/archived"
mkdir -p "$(dirname "$folder")"
mkdir "$folder"
is_begun=false
while read -r name; do
  if test -f "$archive/$name"; then
    is_begun=true
    cp "$archive/$name" "$folder/"
  elif $is_begun; then
    echo "$archive: segment $name is missing; restore to an earlier mark" >&2
    exit 1
  fi
done <"$mark/archived"
cp "$mark"/CommitLog-*.log "$folder/"
