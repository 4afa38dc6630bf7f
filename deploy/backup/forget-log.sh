#!/bin/sh
# Removes segments and marks that no restore needs: sh forget-log.sh ARCHIVE FILE. Deletes
# everything older than FILE. Touch FILE right before taking the oldest snapshot to keep.
set -eu
archive=$1 file=$2
test -f "$file"
find "$archive" -maxdepth 1 -name 'CommitLog-*.log' ! -newer "$file" -exec rm {} +
find "$archive/marks" -mindepth 1 -maxdepth 1 ! -newer "$file" -exec rm -r {} +
