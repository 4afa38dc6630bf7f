#!/bin/sh
# Removes what no restore needs any more: sh forget-log.sh ARCHIVE FILE. All segments and marks go that
# are older than the file: one that was touched right before the oldest snapshot that is kept was taken.
set -eu
archive=$1 file=$2
test -f "$file"
find "$archive" -maxdepth 1 -name 'CommitLog-*.log' ! -newer "$file" -exec rm {} +
find "$archive/marks" -mindepth 1 -maxdepth 1 ! -newer "$file" -exec rm -r {} +
