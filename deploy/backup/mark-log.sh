#!/bin/sh
# Makes a moment to which can be restored: sh mark-log.sh COMMITLOG ARCHIVE. What is written so far and in
# no archived segment yet is copied. Prints the name of the mark, its time in UTC.
set -eu
log=$1 archive=$2
time=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)
mark=$archive/marks/.$time.part
mkdir -p "$mark"
names() { (cd "$1" && find . -maxdepth 1 -name 'CommitLog-*.log' | sed 's:^\./::' | sort); }
# What is in the archive now is whole and closed. What comes there later is copied beside the rest.
names "$archive" >"$mark/archived"
names "$log" >"$mark/written"
names "$archive" >"$mark/since"
# The newest first: what is written meanwhile may then lengthen an older one, but leaves no gap behind it.
for name in $(sort -u "$mark/written" "$mark/since" | comm -23 - "$mark/archived" | sort -r); do
  # One that has gone from the log in between is in the archive, and closed.
  cp "$log/$name" "$mark/" 2>/dev/null || cp "$archive/$name" "$mark/"
done
rm "$mark/written" "$mark/since"
mv "$mark" "$archive/marks/$time"
echo "$time"
